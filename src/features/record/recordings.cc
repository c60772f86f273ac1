// Input: sessions of processes (`begin`), a time, and the processes that the recorded ones start (`follow`).
// Output: one Recording of all of them, with an account of lost samples and notes for the user.
// Algorithm: 1. `begin` opens a recorder per process and warms it up, unless we have started the program ourselves,
// which would run unseen meanwhile. 2. `start` sets one start and end for all. 3. `follow` finds children in /proc,
// orphans that we adopted, and processes that became another program. 4. `run` waits, with its caller's hooks, for the
// first of time, caller and last process. 5. `finish` reads CPU times before it stops the recorders, since stopping
// takes time; then it sums the accounts, and notes CPU quotas and processor time that no sample shows.
// Bounds: Recording bounds stacks and samples (`shared_.mutex` guards it); `known_` keeps a process from being opened
// twice; kMostLooks to read two clocks at one instant; waits of kWait.
#include "features/record/recordings.h"

#include <sys/utsname.h>

#include <array>
#include <charconv>
#include <ctime>
#include <thread>

#include "base/words/recording_part.h"
#include "features/record/recorded_facts.h"
#include "output/report/words.h"

namespace mixstack::record {
namespace {

std::uint64_t unix_ns() {
  timespec now{};
  (void)::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

/// The wall clock at a past instant of CLOCK_MONOTONIC. We may be preempted between reading the two clocks, so the
/// quickest of several tries counts.
std::uint64_t unix_ns_at(std::uint64_t past_ns) {
  constexpr int kMostLooks = 16;
  constexpr std::uint64_t kQuick = 20'000;
  std::uint64_t best = UINT64_MAX, at = 0;
  for (int i = 0; i < kMostLooks && best > kQuick; i++) {
    const std::uint64_t before = monotonic_ns(), now = unix_ns(), took = monotonic_ns() - before;
    if (took >= best) continue;
    best = took;
    at = now - (before - past_ns);
  }
  return at;
}

/// As printf's "%g".
std::string general(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 6).ptr;
  return {text.data(), end};
}

/// Seconds with one digit.
std::string seconds(double ns) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), ns / 1e9, std::chars_format::fixed, 1).ptr;
  return {text.data(), end};
}

}  // namespace

tl::expected<void, NotOpened> Recordings::begin(std::shared_ptr<Session> session, std::uint32_t parent) {
  const TargetInfo& target = session->target().info();
  const std::uint32_t pid = target.pid;
  known_.insert(pid);
  if (!options_.native_names) {
    SymbolOptions symbols;
    symbols.native_names = false;
    session->set_symbol_options(symbols);
  }
  RecorderOptions options = options_.recorder;
  if (options.kernel) options.stacks.kernel = &kernel_;
  {
    const std::lock_guard lock(shared_.mutex);
    const auto process =
        shared_.recording.process({.pid = pid, .parent = parent, .comm = name_of(pid), .command = command_of(target)});
    options.stacks.process = process.value_or(0);
  }
  auto shared_session = std::make_shared<SharedSession>();
  shared_session->session = std::move(session);
  auto opened = open_recorder(std::move(shared_session), shared_, options);
  if (!opened) return tl::unexpected(opened.error());
  if (!is_started_ && !options_.has_launched) opened->recorder->warm_up();
  if (is_started_) opened->recorder->start(start_ns_, end_ns_);
  const std::lock_guard lock(shared_.mutex);
  auto& notes = shared_.recording.facts.notes;
  for (const std::string& note : opened->notes)
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
  all_.push_back({pid, std::move(*opened), false, user_cpu_ns(pid), process::cpu_quotas(pid)});
  return {};
}

RunEnd Recordings::run(std::chrono::milliseconds length, const RunHooks& hooks) {
  constexpr std::uint64_t kWait = 100, kMillisecond = 1'000'000;
  const std::uint64_t time = static_cast<std::uint64_t>(length.count()) * kMillisecond;
  for (;;) {
    const std::uint64_t elapsed = elapsed_ns();
    if (time != 0 && elapsed >= time) return RunEnd::time;
    const std::uint64_t left = time == 0 ? UINT64_MAX : time - elapsed;
    if (hooks.before) hooks.before(left);
    const std::chrono::milliseconds most(std::min(kWait, left / kMillisecond + 1));
    if (!hooks.wait)
      std::this_thread::sleep_for(most);
    else if (!hooks.wait(most))
      return RunEnd::caller;
    if (options_.subprocesses || all_have_ended()) follow();
    if (all_have_ended()) return RunEnd::process;
    if (hooks.look && !hooks.look()) return RunEnd::caller;
  }
}

void Recordings::set_start(std::uint64_t start_ns) {
  start_ns_ = start_ns;
  cpu_before_ns_ = own_cpu_ns();
  piece_began_ns_ = unix_ns_at(start_ns);
  shared_.recording.facts.started_unix_ns = piece_began_ns_;
}

void Recordings::start_all(std::chrono::milliseconds duration) {
  if (duration.count() != 0) end_ns_ = start_ns_ + static_cast<std::uint64_t>(duration.count()) * 1'000'000u;
  is_started_ = true;
  for (Recorded& one : all_) {
    one.cpu_ns = user_cpu_ns(one.pid);
    one.quotas = process::cpu_quotas(one.pid);
    one.opened.recorder->start(start_ns_, end_ns_);
  }
}

void Recordings::start(std::chrono::milliseconds duration) {
  set_start(monotonic_ns());
  start_all(duration);
}

void Recordings::start_where(const Recordings& before, std::chrono::milliseconds duration) {
  set_start(std::min(monotonic_ns(), before.end_ns_));
  start_all(duration);
}

void Recordings::stay_warm() {
  for (Recorded& one : all_) one.opened.recorder->warm_up();
}

bool Recordings::can_overlap() const {
  return std::none_of(all_.begin(), all_.end(), [](const Recorded& r) { return r.opened.recorder->holds_threads(); });
}

std::string Recordings::source_words() const {
  return all_.empty() ? std::string() : all_.front().opened.recorder->source_words();
}

std::uint64_t Recordings::own_cpu() const { return own_cpu_ns() - cpu_before_ns_; }

std::uint64_t Recordings::lost() {
  std::uint64_t lost = 0;
  for (const Recorded& one : all_) {
    const SourceAccount account = one.opened.recorder->account();
    lost += account.lost_in_kernel + account.lost_to_stops + one.opened.recorder->lost_in_queue();
  }
  const std::lock_guard lock(shared_.mutex);
  const RecordingAccount& account = shared_.recording.facts.account;
  if (ended_ns_ != 0) lost = account.lost_in_kernel + account.lost_in_queue;
  return lost + account.lost_to_stops + account.lost_in_tree;
}

void Recordings::follow() {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> found;  // pid, parent
  if (options_.subprocesses)
    for (const std::uint32_t pid : adopted())
      if (!known_.contains(pid)) found.emplace_back(pid, all_.empty() ? 0 : all_.front().pid);
  for (const Recorded& one : all_) {
    if (!one.opened.recorder->has_ended()) {
      for (const std::uint32_t child : children_of(one.pid))
        if (!known_.contains(child)) found.emplace_back(child, one.pid);
    } else if (one.opened.recorder->end_error().code == ErrorCode::process_changed && !one.is_followed) {
      found.emplace_back(one.pid, one.pid);
    }
  }
  for (const auto& [pid, parent] : found) {
    for (Recorded& one : all_)
      one.is_followed = one.is_followed || (one.pid == pid && one.opened.recorder->has_ended());
    known_.insert(pid);
    if (!options_.open_process) continue;
    auto session = options_.open_process(pid);
    if (session) (void)begin(std::move(*session), parent);
  }
}

std::vector<std::uint32_t> Recordings::living() const {
  std::vector<std::uint32_t> pids;
  for (const Recorded& one : all_)
    if (!one.opened.recorder->has_ended()) pids.push_back(one.pid);
  return pids;
}

std::map<std::uint32_t, std::string> Recordings::gone() const {
  std::map<std::uint32_t, std::string> words;
  for (const Recorded& one : all_) {
    if (!one.opened.recorder->has_ended() || one.opened.recorder->end_error().code != ErrorCode::no_such_process)
      continue;
    for (const RecordedProcess& process : shared_.recording.processes())
      if (process.pid == one.pid && process.parent == 0)
        words[one.pid] = process.comm + " (pid " + std::to_string(one.pid) + ")";
  }
  return words;
}

std::pair<Error, std::uint32_t> Recordings::failure() const {
  for (const Recorded& one : all_) {
    const Error& error = one.opened.recorder->end_error();
    if (error.code != ErrorCode::none && error.code != ErrorCode::no_such_process &&
        error.code != ErrorCode::process_changed)
      return {error, one.pid};
  }
  return {};
}

void Recordings::finish() {
  ended_ns_ = std::min(monotonic_ns(), end_ns_);
  for (Recorded& one : all_) {
    const auto now = user_cpu_ns(one.pid);
    const bool is_told = now && one.cpu_ns && *now >= *one.cpu_ns && !one.opened.recorder->has_ended();
    one.cpu_ns = is_told ? std::optional(*now - *one.cpu_ns) : std::nullopt;
  }
  note_quotas();
  for (Recorded& one : all_) one.opened.recorder->stop();
  const std::lock_guard lock(shared_.mutex);
  RecordingFacts& facts = shared_.recording.facts;
  add_accounts(facts);
  note_unseen_time();
  describe(facts);
  facts.own_cpu_ns = own_cpu();
  shared_.recording.sort_samples();
}

/// Sums the losses of all recorders, and says what to do about them.
void Recordings::add_accounts(RecordingFacts& facts) {
  std::uint64_t stopless = 0;
  std::size_t short_buffer = 0;
  for (const Recorded& one : all_) {
    const SourceAccount account = one.opened.recorder->account();
    facts.account.lost_in_kernel += account.lost_in_kernel;
    facts.account.lost_to_stops += account.lost_to_stops;
    facts.account.skipped += account.skipped;
    stopless += account.stopless;
    if (account.lost_in_kernel != 0) short_buffer = std::max(short_buffer, account.short_buffer);
    facts.account.lost_in_queue += one.opened.recorder->lost_in_queue();
    for (std::size_t i = 0; i < facts.holds.counts.size(); i++) facts.holds.counts[i] += account.holds.counts[i];
    facts.holds.total_ns += account.holds.total_ns;
    facts.holds.holds += account.holds.holds;
    facts.holds.longest_ns = std::max(facts.holds.longest_ns, account.holds.longest_ns);
  }
  if (short_buffer != 0)
    facts.notes.push_back("samples were lost because the kernel's buffers had only " +
                          std::to_string(short_buffer >> 10) +
                          " KiB: sysctl kernel.perf_event_mlock_kb, ulimit -l or CAP_IPC_LOCK allow larger ones");
  if (stopless != 0)
    facts.notes.push_back("no thread was stopped in " + report::counted(stopless, "round") +
                          ", lest they are held for more than " + general(100 * options_.recorder.most_held) +
                          " % of their time: what had run by then is counted where it was seen next; --max-pause "
                          "SHARE allows more");
}

/// Notes CPU quotas: a throttled thread looks ready to run, like one that lacks a processor.
void Recordings::note_quotas() {
  const std::lock_guard lock(shared_.mutex);
  RecordingFacts& facts = shared_.recording.facts;
  for (const Recorded& one : all_) {
    const auto use = process::quota_use(one.quotas, process::cpu_quotas(one.pid));
    if (!use || !use->is_felt()) continue;
    is_throttled_ = true;
    std::string note = process::quota_words(*use);
    if (std::find(facts.notes.begin(), facts.notes.end(), note) == facts.notes.end())
      facts.notes.push_back(std::move(note));
  }
}

/// Compares the sampled time with the CPU time that the kernel counted, and notes a large difference: threads that live
/// for some milliseconds are hardly ever sampled.
void Recordings::note_unseen_time() {
  constexpr double kLeast = 0.3e9, kShare = 0.25;  // ns; share of the used time. Reported losses are added first
  double used = 0, seen = 0;
  const Want want = options_.recorder.want;
  const bool is_of_bytes = want == Want::allocations || want == Want::first_uses || want == Want::memory_use;
  if (all_.empty() || is_of_bytes) return;
  for (const Recorded& one : all_) {
    if (!one.cpu_ns) return;
    used += static_cast<double>(*one.cpu_ns);
  }
  for (const Sample& sample : shared_.recording.samples()) {
    const SampleContext& context = shared_.recording.contexts()[sample.context];
    if (context.activity != Activity::running) continue;
    const std::uint32_t hertz =
        context.clock == SampleClock::cpu ? all_.front().opened.cpu_hertz : all_.front().opened.wall_hertz;
    if (hertz != 0) seen += 1e9 / hertz * static_cast<double>(sample.count);
  }
  const RecordingAccount& account = shared_.recording.facts.account;
  const auto all = static_cast<double>(account.samples);
  const auto lost = static_cast<double>(account.lost_in_kernel + account.lost_in_queue + account.lost_in_tree);
  if (all > 0) seen *= (all + lost) / all;
  const double rounds = static_cast<double>(elapsed_ns()) / 1e9 * all_.front().opened.wall_hertz;
  if (const auto skipped = static_cast<double>(account.skipped); skipped < rounds) seen *= rounds / (rounds - skipped);
  if (used < kLeast || used - seen < kLeast || used - seen < kShare * used) return;
  shared_.recording.facts.notes.push_back(seconds(used - seen) + " s of " + seconds(used) +
                                          " s of processor time are in no sample: threads that live for some "
                                          "milliseconds are hardly ever sampled");
}

void Recordings::describe(RecordingFacts& facts) const {
  facts.version = MIXSTACK_VERSION;
  facts.duration_ns = elapsed_ns();
  for (const Recorded& one : all_) {
    facts.cpu_hertz = std::max(facts.cpu_hertz, one.opened.cpu_hertz);
    facts.wall_hertz = std::max(facts.wall_hertz, one.opened.wall_hertz);
    if (facts.source.empty()) facts.source = one.opened.recorder->source_words();
    if (facts.arch.empty())
      facts.arch = report::arch_name(one.opened.recorder->session().session->target().info().arch);
  }
  utsname host{};
  if (::uname(&host) == 0) facts.host = host.nodename;
}

std::shared_ptr<const Recording> Recordings::snapshot() {
  auto copy = std::make_shared<Recording>();
  {
    const std::lock_guard lock(shared_.mutex);
    *copy = shared_.recording;
  }
  describe(copy->facts);
  copy->sort_samples();
  return copy;
}

Recording Recordings::take_piece() {
  Recording piece;
  {
    const std::lock_guard lock(shared_.mutex);
    piece = part_of(shared_.recording, shared_.recording.take_fresh());
  }
  describe(piece.facts);
  const std::uint64_t now = unix_ns();
  piece.facts.started_unix_ns = piece_began_ns_;
  piece.facts.duration_ns = now - std::min(now, piece_began_ns_);
  piece_began_ns_ = now;
  return piece;
}

}  // namespace mixstack::record
