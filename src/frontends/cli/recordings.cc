// Input: sessions of processes (`begin`), a time, and the processes that the recorded ones start (`follow`).
// Output: one Recording of all of them, with an account of lost samples and notes for the user.
// Algorithm: 1. `begin` opens a recorder per process and warms it up, unless we have started the program ourselves,
// which would run unseen meanwhile. 2. `start` sets one start and end for all. 3. `follow` finds children in /proc,
// orphans that we adopted, and processes that became another program. 4. `finish` reads CPU times before it stops the
// recorders, since stopping takes time; then it sums the accounts, and notes CPU quotas and processor time that no
// sample shows.
// Bounds: Recording bounds stacks and samples (`shared_.mutex` guards it); `known_` keeps a process from being opened
// twice; kMostLooks to read two clocks at one instant.
#include "frontends/cli/recordings.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <ctime>

#include "base/words/recording_part.h"
#include "frontends/cli/launched_program.h"
#include "frontends/cli/version.h"
#include "output/report/words.h"

namespace mixstack::cli {
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
    const std::uint64_t before = record::monotonic_ns(), now = unix_ns(), took = record::monotonic_ns() - before;
    if (took >= best) continue;
    best = took;
    at = now - (before - past_ns);
  }
  return at;
}

}  // namespace

tl::expected<void, record::NotOpened> Recordings::begin(std::unique_ptr<Session> session, std::uint32_t parent) {
  const TargetInfo& target = session->target().info();
  const std::uint32_t pid = target.pid;
  known_.insert(pid);
  if (arguments_.no_names) {
    SymbolOptions symbols;
    symbols.native_names = false;
    session->set_symbol_options(symbols);
  }
  record::RecorderOptions options = recorder_options(arguments_);
  if (arguments_.kernel) options.stacks.kernel = &kernel_;
  {
    const std::lock_guard lock(shared_.mutex);
    const auto process =
        shared_.recording.process({.pid = pid, .parent = parent, .comm = name_of(pid), .command = command_of(target)});
    options.stacks.process = process.value_or(0);
  }
  auto shared_session = std::make_unique<record::SharedSession>();
  shared_session->session = std::move(session);
  auto opened = record::open_recorder(std::move(shared_session), shared_, options);
  if (!opened) return tl::unexpected(opened.error());
  // No warm-up for a program that we have just started: it would run unseen meanwhile.
  if (!is_started_ && arguments_.command.empty()) opened->recorder->warm_up();
  if (is_started_) opened->recorder->start(start_ns_, end_ns_);
  const std::lock_guard lock(shared_.mutex);
  auto& notes = shared_.recording.facts.notes;
  for (const std::string& note : opened->notes)
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
  all_.push_back({pid, std::move(*opened), false, user_cpu_ns(pid), process::cpu_quotas(pid)});
  return {};
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
  set_start(record::monotonic_ns());
  start_all(duration);
}

void Recordings::start_where(const Recordings& before, std::chrono::milliseconds duration) {
  set_start(std::min(record::monotonic_ns(), before.end_ns_));
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

void Recordings::follow() {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> found;  // pid, parent
  if (arguments_.subprocesses)
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
    auto session = environment_.open_process(pid);
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
        words[one.pid] = fmt::format("{} (pid {})", process.comm, one.pid);
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
  ended_ns_ = std::min(record::monotonic_ns(), end_ns_);
  for (Recorded& one : all_) {
    const auto now = user_cpu_ns(one.pid);
    const bool is_told = now && one.cpu_ns && *now >= *one.cpu_ns && !one.opened.recorder->has_ended();
    one.cpu_ns = is_told ? std::optional(*now - *one.cpu_ns) : std::nullopt;
  }
  note_quotas();
  for (Recorded& one : all_) one.opened.recorder->stop();
  const std::lock_guard lock(shared_.mutex);
  RecordingFacts& facts = shared_.recording.facts;
  std::uint64_t stopless = 0;
  std::size_t short_buffer = 0;
  for (const Recorded& one : all_) {
    const record::SourceAccount account = one.opened.recorder->account();
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
    facts.notes.push_back(fmt::format(
        "samples were lost because the kernel's buffers had only {} KiB: sysctl kernel.perf_event_mlock_kb, "
        "ulimit -l or CAP_IPC_LOCK allow larger ones",
        short_buffer >> 10));
  if (stopless != 0)
    facts.notes.push_back(fmt::format(
        "no thread was stopped in {}, lest they are held for more than {:g} % of their time: what had run by "
        "then is counted where it was seen next; --max-pause SHARE allows more",
        report::counted(stopless, "round"), 100 * arguments_.most_held));
  note_unseen_time();
  describe(facts);
  facts.own_cpu_ns = own_cpu();
  shared_.recording.sort_samples();
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
  if (all_.empty()) return;
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
  shared_.recording.facts.notes.push_back(
      fmt::format("{:.1f} s of {:.1f} s of processor time are in no sample: threads that live for some milliseconds "
                  "are hardly ever sampled",
                  (used - seen) / 1e9, used / 1e9));
}

void Recordings::describe(RecordingFacts& facts) const {
  facts.version = version_number();
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

}  // namespace mixstack::cli
