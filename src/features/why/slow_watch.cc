#include "features/why/slow_watch.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

#include "features/why/advice.h"
#include "features/why/call_causes.h"
#include "features/why/health.h"
#include "features/why/runtime_places.h"
#include "process/live/kernel_counters.h"
#include "process/live/process_usage.h"

namespace mixstack::why {
namespace {

constexpr std::chrono::milliseconds kPollEvery{20};
/// Rates of the kernel's counters, to ticks of 10 ms, say little before.
constexpr std::chrono::milliseconds kLeastWatch{400};

std::optional<process::ProcDir> directory_of(std::uint32_t pid) {
  auto proc = process::ProcDir::open(pid);
  return proc ? std::optional(std::move(*proc)) : std::nullopt;
}

}  // namespace

SlowWatch::SlowWatch(std::shared_ptr<record::SharedSession> session, std::uint32_t pid)
    : session_(std::move(session)), pid_(pid), proc_(directory_of(pid)), kernel_(pid) {}

Counters SlowWatch::read() const {
  Counters counters;
  counters.at = std::chrono::steady_clock::now();
  if (proc_) counters.kernel = process::kernel_counters(*proc_, before_.kernel);
  const std::lock_guard lock(session_->mutex);
  if (auto runtimes = session_->session->counters()) counters.runtimes = std::move(*runtimes);
  return counters;
}

void SlowWatch::begin() {
  before_ = after_ = read();
  tally_.note(before_.runtimes);
  kernel_.begin();
}

void SlowWatch::poll() {
  const std::lock_guard lock(session_->mutex);
  if (const auto runtimes = session_->session->counters()) tally_.note(*runtimes);
}

void SlowWatch::pass_until(std::chrono::milliseconds since_begin) {
  const auto end = before_.at + since_begin;
  while (std::chrono::steady_clock::now() < end) {
    poll();
    std::this_thread::sleep_until(std::min(end, std::chrono::steady_clock::now() + kPollEvery));
  }
}

bool SlowWatch::rests() {
  after_ = read();
  const auto uptime = proc_ ? process::uptime_of(process::read_ticks(*proc_)) : std::nullopt;
  return uptime && stands_still(before_, after_) && was_quiet(after_, *uptime);
}

bool SlowWatch::spends() {
  after_ = read();
  return why::spends(before_, after_);
}

bool SlowWatch::touches_memory() const {
  constexpr double kFaults = 2000, kBytes = 300'000;  // a second
  const double seconds = seconds_between(before_, after_);
  const auto is_above = [&](const std::optional<std::uint64_t>& before, const std::optional<std::uint64_t>& after,
                            double least) {
    const auto value = rate(before, after, seconds);
    return value && *value >= least;
  };
  return is_above(before_.kernel.minor_faults, after_.kernel.minor_faults, kFaults) ||
         is_above(before_.kernel.rss_anon, after_.kernel.rss_anon, kBytes);
}

/// A thread that throws now and then handles its exceptions for a small part of the time: many short looks.
void SlowWatch::look_for_types() {
  constexpr std::chrono::milliseconds kLongest{250};
  constexpr std::chrono::microseconds kPause{40};
  const auto end = std::chrono::steady_clock::now() + kLongest;
  while (tally_.thrown().empty() && std::chrono::steady_clock::now() < end) {
    poll();
    std::this_thread::sleep_for(kPause);
  }
}

void SlowWatch::end() {
  constexpr std::chrono::milliseconds kJustNow{10};
  poll();
  if (std::chrono::steady_clock::now() - after_.at > kJustNow) after_ = read();
  if (throws_often(before_, after_)) {
    look_for_types();
    after_ = read();
  }
  evidence_ = kernel_.end();
}

Health SlowWatch::health(const ProcessDump& dump) const { return health_of(before_, after_, dump); }

std::vector<SlowCause> SlowWatch::causes(const ProcessDump& dump, const LockTally& locks, const Busyness* busy,
                                         const Recording* recording) const {
  if (after_.at - before_.at < kLeastWatch) return {};
  RuntimeEvidence evidence{
      .before = before_, .after = after_, .tally = tally_, .dump = dump, .busy = busy, .uptime = evidence_.uptime};
  if (recording != nullptr) evidence.throwing = throwing_threads(*recording);
  std::vector<SlowCause> causes = runtime_causes(evidence);
  for (SlowCause& cause : kernel_causes(before_, after_, evidence_)) causes.push_back(std::move(cause));
  const auto is_writes = [](const SlowCause& c) { return c.kind == SlowKind::writes; };
  if (recording != nullptr && busy != nullptr && std::none_of(causes.begin(), causes.end(), is_writes))
    if (auto cause = costly_sends_cause(evidence_, sending_processors(*recording, *busy)))
      causes.push_back(std::move(*cause));
  fold_page_faults(causes);
  for (SlowCause& cause : locks.causes(before_, after_, dump)) causes.push_back(std::move(cause));
  if (auto cause = pool_.cause()) causes.push_back(std::move(*cause));
  if (recording != nullptr) {
    add_runtime_places(*recording, most_allocating(before_, after_, dump), causes);
    add_places(*recording, causes);
  }
  add_runtime_places(dump, causes);
  add_places(dump, causes);
  sort_causes(causes);
  add_advice(pid_, causes);
  return causes;
}

}  // namespace mixstack::why
