// Input: the runtime's callbacks (entry/library.cc), the settings it was loaded with, requests at the control socket.
// Output: reports, the samples of a recording as messages, a profile file when sampling ends.
// Algorithm: `start`: 1. make a Sampling and its Sampler, which sends no signal yet. 2. Publish it as `current_`, so
// that callbacks find it. 3. Switch the runtime's events on, and then, in a process that has run, catch up on code
// compiled before: in this order no code is missed. 4. Install the handler; give old threads larger alternate stacks
// while the runtime is stopped; start the sampling thread. A failure switches events off, gives the signal back and
// drops the Sampling.
// `stop`: end the sampler first, so that the last samples are in the report and the file; then switch events off.
// Bounds: one Sampling at a time (`lifecycle_`). Sampler::end and ControlServer::finish time out (kLastWords); a
// Sampling whose handlers or thread did not end is kept in `given_up_`. JitMap, SampleRing and Profile bound memory.
#include "agent/in_process/agent.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "agent/in_process/contract_descriptor.h"
#include "output/report/profile_report.h"

namespace mixstack::agent {
namespace {

using agent_link::RefusalCode;
using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds kLogEvery{1000}, kLastWords{2000};
constexpr std::uint32_t kEvents = clr::events::kModuleLoads | clr::events::kJitCompilation | clr::events::kThreads;
constexpr std::uint32_t kHighEvents = clr::events::kHighDynamicFunctionUnloads;

/// Only on our own threads: writing to a full pipe blocks.
void say(const std::string& text) {
  const std::string line = "mixstack agent: " + text + "\n";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(file, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

/// Replaces `%p` by the PID, so that children that inherit the settings write their own files.
[[nodiscard]] std::string path_of(std::string path, pid_t pid) {
  if (const std::size_t at = path.find("%p"); at != path.npos) path.replace(at, 2, std::to_string(pid));
  return path;
}

template <class T>
[[nodiscard]] std::uint64_t ns_since(T time) {
  return static_cast<std::uint64_t>(duration_cast<nanoseconds>(T::clock::now() - time).count());
}

}  // namespace

Agent::Sampling::Sampling(clr::ProfilerInfo info, AgentOptions o)
    : options(std::move(o)),
      code(info),
      frames(FrameListLayout::in(own_descriptor())),
      recorder([this](Address lookup, std::uint64_t method) { return code.frame_at(lookup, method); },
               !options.out.empty()) {}

Agent::Agent(clr::ProfilerInfo info, AgentOptions options) : info_(info), first_options_(std::move(options)) {}

std::unique_ptr<Agent> Agent::create(clr::ProfilerInfo info, AgentOptions options) {
  std::unique_ptr<Agent> agent(new Agent(info, std::move(options)));
  auto control = ControlServer::create(agent->own_, MIXSTACK_VERSION, agent->hooks());
  if (control) {
    agent->control_ = std::move(*control);
  } else if (agent->first_options_.explains) {
    say(std::string("no control socket: ") + std::strerror(control.error().os_error));
  }
  return agent;
}

std::shared_ptr<Agent::Sampling> Agent::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

void Agent::compiled(const clr::Function& function, bool is_dynamic) {
  if (const auto sampling = current()) sampling->code.compiled(function, is_dynamic);
}
void Agent::freed(clr::Id function) {
  if (const auto sampling = current()) sampling->code.freed(function);
}
void Agent::loaded(clr::Id module) {
  if (const auto sampling = current()) sampling->code.loaded(module);
}
void Agent::unloaded(clr::Id module) {
  if (const auto sampling = current()) sampling->code.unloaded(module);
}
void Agent::thread_began(const clr::Thread& thread) {
  const auto sampling = current();
  if (sampling == nullptr) return;
  sampling->frames.began(thread);
  sampling->sampler->thread_began(thread.tid);
}
void Agent::thread_ended(clr::Id thread) {
  if (const auto sampling = current()) sampling->frames.ended(thread);
}

clr::Status Agent::begin(bool is_late) {
  if (!first_options_.samples()) return clr::kOk;
  return start(first_options_, is_late) ? clr::kOk : clr::kFailed;
}

Result<void> Agent::start(const AgentOptions& options, bool is_late) {
  const std::lock_guard one(lifecycle_);
  if (current() != nullptr) return fail(ErrorCode::already_traced);
  auto sampling = std::make_shared<Sampling>(info_, options);
  if (!sampling->code.is_usable()) return fail(ErrorCode::limit_exceeded);
  Sampler::Hooks hooks;
  // The raw pointer is safe: the sampler's thread ends before the Sampling does, or the Sampling is kept.
  hooks.sample = [s = sampling.get()](const Sample& sample) { s->recorder.add(sample); };
  hooks.repeat = [s = sampling.get()](std::uint32_t tid) { return s->recorder.repeat(tid); };
  hooks.pause = [this, s = sampling.get()] {
    s->recorder.flush();
    if (!s->options.explains || Clock::now() < s->next_log) return;
    s->next_log = Clock::now() + kLogEvery;
    log(*s);
  };
  auto sampler = Sampler::create(sampling->code, sampling->frames, own_, options, std::move(hooks));
  if (!sampler) return fail(sampler.error());
  sampling->sampler = std::move(*sampler);
  {
    const std::lock_guard lock(mutex_);
    current_ = sampling;
  }
  Result<void> begun = fail(ErrorCode::unsupported);
  if (info_.set_events(kEvents, kHighEvents) >= 0) {
    if (is_late) sampling->code.catch_up();
    begun = sampling->sampler->take_signal();
    if (begun && is_late) make_room(*sampling);
    if (begun) begun = sampling->sampler->begin();
  }
  if (begun) return begun;
  const bool is_over = sampling->sampler->end();
  (void)info_.set_events(0, 0);
  const std::lock_guard lock(mutex_);
  if (!is_over) given_up_.push_back(current_);
  current_.reset();
  return begun;
}

/// If a thread's first signal arrives while it handles a fault, its alternate stack is too small for both, and the
/// kernel kills the process (alternate_stack.h). So threads get larger stacks while the runtime is stopped, when none
/// handles a fault. Threads that begin later get one at once.
void Agent::make_room(Sampling& sampling) {
  std::vector<std::uint32_t> threads;
  for (const clr::Thread& thread : info_.threads()) {
    sampling.frames.was_there(thread);
    threads.push_back(thread.tid);
  }
  const auto began = Clock::now();
  const bool is_stopped = info_.stop();
  const std::size_t without = is_stopped ? sampling.sampler->make_room(threads) : threads.size();
  if (is_stopped) info_.go_on();
  if (sampling.options.explains)
    say(std::to_string(threads.size() - without) + " of " + std::to_string(threads.size()) +
        " threads have room for signals after " + std::to_string(ns_since(began) / 1000) + " us");
}

void Agent::stop() {
  const std::lock_guard one(lifecycle_);
  const auto sampling = current();
  if (sampling == nullptr) return;
  const bool is_over = sampling->sampler->end();
  sampling->recorder.finish();
  agent_link::Report last;
  add_facts(*sampling, last);
  if (sampling->options.explains) log(*sampling);
  write_out(*sampling);
  (void)info_.set_events(0, 0);
  const std::lock_guard lock(mutex_);
  last_ = std::move(last);
  // Running callbacks hold references for a moment longer.
  if (!is_over) given_up_.push_back(current_);
  current_.reset();
}

void Agent::end() {
  if (::getpid() != pid_) return;  // a forked child has none of our threads
  stop();
  if (control_ != nullptr) (void)control_->finish(kLastWords);
}

void Agent::forget_after_fork() {
  Sampler::forget_after_fork();
  if (control_ != nullptr) control_->close_after_fork();
}

void Agent::write_out(Sampling& sampling) const {
  const std::string path = path_of(sampling.options.out, pid_);
  if (path.empty()) return;
  Profile profile = sampling.recorder.take();
  profile.pid = static_cast<std::uint32_t>(pid_);
  profile.runtime = info_.version();
  profile.cpu_hertz = sampling.options.cpu_hertz;
  profile.wall_hertz = sampling.options.wall_hertz;
  profile.duration = ns_since(sampling.began);
  agent_link::Report facts;
  add_facts(sampling, facts);
  profile.account = facts.account;
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (file < 0) return say("cannot write " + path + ": " + std::strerror(errno));
  report::Writer writer([file](std::string_view piece) { write_all(file, piece); });
  sampling.options.format == OutFormat::json ? report::write_profile_json(writer, profile)
                                             : report::write_collapsed(writer, profile);
  writer.flush();
  (void)::close(file);
}

void Agent::log(const Sampling& sampling) const {
  agent_link::Report r;
  add_facts(sampling, r);
  const auto number = [](std::uint64_t n) { return std::to_string(n); };
  say(number(r.account.samples) + " samples, " + number(r.account.cut) + " cut, " + number(r.account.lost) + " lost; " +
      number(r.threads) + " threads; " + number(r.methods) + " methods, " + number(r.pieces) + " pieces of code, " +
      number(r.freed) + " freed, " + number(r.refused) + " refused, " + number(r.code_bytes) + " bytes; " +
      number(r.images) + " images");
}

void Agent::add_facts(const Sampling& sampling, agent_link::Report& r) const {
  const auto code = sampling.code.account();
  const auto sampled = sampling.sampler->account();
  r.cpu_hertz = sampling.options.cpu_hertz;
  r.wall_hertz = sampling.options.wall_hertz;
  r.out = path_of(sampling.options.out, pid_);
  r.sampling_for = ns_since(sampling.began);
  r.account = sampling.recorder.account();
  r.account.lost += sampled.lost;
  r.account.postponed = sampled.postponed;
  r.account.missed = sampled.missed;
  r.threads = sampled.threads;
  r.untimed = sampled.untimed;
  r.foreign = sampled.foreign;
  r.ring_bytes = sampled.ring_bytes;
  r.methods = code.methods;
  r.images = code.images;
  r.pieces = code.map.pieces;
  r.freed = code.map.freed;
  r.refused = code.map.refused;
  r.code_bytes = code.map.bytes;
}

agent_link::Report Agent::report() const {
  agent_link::Report r;
  if (const auto sampling = current()) {
    r.is_sampling = true;
    add_facts(*sampling, r);
  } else {
    const std::lock_guard lock(mutex_);
    r = last_;
    r.remains = "libmixstack_agent.so, and a thread that sleeps at the control socket";
    if (control_ != nullptr) r.remains += " " + control_->path();
    if (r.sampling_for != 0) r.remains += "; the handler of SIGPROF, which does nothing, where there was none before";
    if (!given_up_.empty()) r.remains += "; the memory of a sampling that could not be waited for";
  }
  r.agent = MIXSTACK_VERSION;
  r.runtime = info_.version();
  r.loaded_for = ns_since(loaded_);
  r.cpu = own_.cpu();
  return r;
}

agent_link::Bytes Agent::refusal(RefusalCode code, std::string text) const {
  return agent_link::encode(agent_link::Refusal{code, MIXSTACK_VERSION, std::move(text)});
}

ControlServer::Hooks Agent::hooks() {
  ControlServer::Hooks hooks;
  hooks.status = [this] { return agent_link::encode(report()); };
  hooks.start = [this](std::string_view settings) { return on_start(settings); };
  hooks.stop = [this] {
    stop();
    return agent_link::encode(report());
  };
  hooks.record = [this](std::string_view s, std::shared_ptr<Outbox> outbox) { return on_record(s, std::move(outbox)); };
  hooks.end_record = [this](const Outbox* outbox) { return on_end_record(outbox); };
  return hooks;
}

agent_link::Bytes Agent::on_start(std::string_view settings) {
  if (current() != nullptr) return refusal(RefusalCode::already_sampling, "it samples already");
  const AgentOptions options = AgentOptions::of_lines(settings);
  if (!options.samples()) return refusal(RefusalCode::not_possible, "there is nothing to sample: no rate was given");
  const auto begun = start(options, true);
  if (begun) return agent_link::encode(report());
  if (begun.error().code == ErrorCode::already_traced)
    return refusal(RefusalCode::already_sampling, "it samples already");
  if (begun.error().code == ErrorCode::unsupported)
    return refusal(RefusalCode::not_possible, "the runtime does not tell it of code");
  return refusal(RefusalCode::not_possible, "the process has no memory or no thread left for it");
}

agent_link::Bytes Agent::on_record(std::string_view settings, std::shared_ptr<Outbox> outbox) {
  if (current() == nullptr) {
    const agent_link::Bytes answer = on_start(settings);
    const auto sampling = current();
    if (sampling == nullptr) return answer;
    sampling->is_for_recording = true;
  }
  const auto sampling = current();
  if (sampling == nullptr) return refusal(RefusalCode::not_possible, "sampling was stopped at this moment");
  sampling->recorder.send_to(std::move(outbox));
  return agent_link::encode(report());
}

agent_link::Bytes Agent::on_end_record(const Outbox* outbox) {
  const auto sampling = current();
  if (sampling == nullptr) return agent_link::encode(report());
  const bool is_last = sampling->recorder.no_longer_to(outbox);
  auto answer = report();
  if (sampling->is_for_recording && is_last) {
    stop();
    const auto over = report();
    answer.is_sampling = false;
    answer.remains = over.remains;
  }
  return agent_link::encode(answer);
}

}  // namespace mixstack::agent
