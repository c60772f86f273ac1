#include "features/record/stop_source.h"

#include <algorithm>
#include <bit>
#include <condition_variable>
#include <mutex>

namespace mixstack::record {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

Activity activity_of(const ThreadCapture& thread, bool was_queued) {
  if (thread.kernel_state == 'T' || thread.kernel_state == 't') return Activity::unknown;  // not by us
  if (thread.syscall < 0 || thread.kernel_state == 'R') return was_queued ? Activity::runnable : Activity::running;
  return thread.kernel_state == 'D' ? Activity::blocked : Activity::waiting;
}

}  // namespace

bool sleep_until(std::uint64_t when_ns, const std::stop_token& stop) {
  const std::uint64_t now = monotonic_ns();
  if (now >= when_ns) return !stop.stop_requested();
  std::mutex mutex;
  std::condition_variable_any end;
  std::unique_lock lock(mutex);
  const auto time = std::min<std::uint64_t>(when_ns - now, kSecond / 10);
  (void)end.wait_for(lock, stop, std::chrono::nanoseconds(time), [] { return false; });
  return !stop.stop_requested() && monotonic_ns() >= when_ns;
}

StopSource::StopSource(SharedSession& session, const StopOptions& options)
    : session_(session),
      options_(options),
      clock_(monotonic_ns(), kSecond / std::max(1u, options.hertz), static_cast<std::uint32_t>(monotonic_ns())),
      watch_(session.session->target().info().pid),
      began_ns_(monotonic_ns()),
      due_ns_(began_ns_) {}

void StopSource::begin(std::uint64_t now_ns) {
  clock_ = RoundClock(now_ns, kSecond / std::max(1u, options_.hertz), static_cast<std::uint32_t>(now_ns));
  began_ns_ = due_ns_ = now_ns;
  held_ns_ = 0;
}

Result<Capture> StopSource::capture(std::vector<ThreadId> threads) {
  DumpOptions options;
  options.threads = std::move(threads);
  options.facts = false;
  // Stopping hundreds of threads takes longer than a round, and one that gets no CPU would delay the others.
  options.together = options_.together;
  options.together_with_roots = !options_.waiting_only;
  // A thread that cannot stop soon is late alone; a round does not wait for it.
  options.late_timeout = std::chrono::milliseconds(50);
  const std::lock_guard lock(session_.mutex);
  return session_.session->capture(options);
}

void StopSource::note_pause(const Capture& capture) {
  const auto threads = static_cast<std::uint64_t>(std::count_if(
      capture.threads.begin(), capture.threads.end(), [](const ThreadCapture& thread) { return thread.captured; }));
  if (threads == 0) return;
  const auto pause_ns = static_cast<std::uint64_t>(capture.pause.count());
  const auto held_ns = static_cast<std::uint64_t>(capture.held.count());
  HoldHistogram& holds = account_.holds;
  const auto micros = held_ns / threads / 1000;
  holds.counts[std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(micros)), holds.counts.size() - 1)] +=
      threads;
  holds.total_ns += held_ns;
  holds.longest_ns = std::max(holds.longest_ns, pause_ns);
  holds.holds += threads;
  held_ns_ += held_ns / threads;
}

Result<SampleBatch> StopSource::next(const std::stop_token& stop) {
  SampleBatch batch;
  if (!sleep_until(due_ns_, stop)) return batch;
  const std::uint64_t now = monotonic_ns();
  due_ns_ = clock_.next(now);
  // A tenth of a second in advance, so that the first rounds take place.
  const std::uint64_t counted_ns = now - began_ns_ + kSecond / 10;
  const bool may_stop =
      options_.most_held <= 0 || static_cast<double>(held_ns_) <= options_.most_held * static_cast<double>(counted_ns);
  auto round = watch_.look();
  if (!round) return fail(round.error());
  batch.ended = std::move(round->ended);
  for (const ThreadId tid : round->unchanged) batch.repeats.push_back({tid, now, Activity::waiting});
  if (options_.waiting_only) {
    std::vector<ThreadId> others;
    std::set_difference(round->changed.begin(), round->changed.end(), round->running.begin(), round->running.end(),
                        std::back_inserter(others));
    round->changed = std::move(others);
    for (const ThreadId tid : round->running) batch.running.push_back({tid, now, Activity::running});
  }
  if (round->changed.empty()) return batch;
  if (!may_stop) {
    account_.stopless++;
    batch.unseen = std::move(round->changed);
    return batch;
  }
  auto capture = this->capture(std::move(round->changed));
  if (!capture) return fail(capture.error());
  note_pause(*capture);
  for (const ThreadCapture& thread : capture->threads) {
    watch_.captured(thread);
    // The main thread of a process can end before the others; its id stays.
    if (!thread.captured && (thread.kernel_state == 'Z' || thread.kernel_state == 'X')) {
      batch.ended.push_back(thread.tid);
      continue;
    }
    // It began to run meanwhile: the other source samples it.
    const Activity activity = activity_of(thread, watch_.was_queued(thread.tid));
    if (options_.waiting_only && thread.captured && activity == Activity::running) {
      batch.running.push_back({thread.tid, now, Activity::running});
      continue;
    }
    batch.threads.push_back(thread);  // captured or not: the recorder counts those that were not
    batch.samples.push_back({now, SampleClock::wall, activity});
  }
  batch.capture = std::move(*capture);
  batch.until_ns = monotonic_ns();
  return batch;
}

SourceAccount StopSource::account() const {
  SourceAccount account = account_;
  account.skipped += clock_.skipped();
  return account;
}

std::string StopSource::words() const { return "stops by ptrace"; }

}  // namespace mixstack::record
