// Where samples come from: one interface over stops, perf events and BPF.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "features/record/code_changes.h"
#include "features/record/memory_event.h"
#include "mixstack/recording.h"
#include "mixstack/result.h"
#include "mixstack/target.h"

namespace mixstack::record {

/// One sample's time and state, beside registers and stack.
struct SampledThread {
  std::uint64_t time_ns = 0;  ///< CLOCK_MONOTONIC
  SampleClock clock = SampleClock::wall;
  Activity activity = Activity::unknown;
  std::vector<Address> kernel{};  ///< its kernel stack, innermost first; empty: not asked for, or not in the kernel
  bool is_of_round = false;       ///< one per round: counts as one round even if its thread ran
  // With SampleClock::bytes:
  std::uint32_t weight = 0;  ///< bytes
  std::string type{};        ///< of the object that was made; empty: not known
  std::optional<MemoryEvent> memory{};
};

/// Bytes that a thread has allocated, and no sample stands for.
struct UnplacedBytes {
  ThreadId tid = 0;
  std::string comm;
  std::uint64_t bytes = 0, time_ns = 0;
};

/// A thread that has not run since its last sample: the same stack again.
struct RepeatedSample {
  ThreadId tid = 0;
  std::uint64_t time_ns = 0;
  Activity activity = Activity::waiting;
};

/// Samples that are walked together.
struct SampleBatch {
  /// Owns the bytes of all stacks. Its own threads, if any, were stopped together. Samples of different times are no
  /// threads of one capture: each is walked over its own bytes alone.
  Capture capture;
  std::vector<ThreadCapture> threads;  ///< to be walked; a thread may occur more than once
  std::vector<SampledThread> samples;  ///< of `threads`, in their order
  std::vector<RepeatedSample> repeats;
  std::vector<RepeatedSample> running;  ///< a round found them on a CPU: their stacks come from another source
  /// Not 0: time of a round that reports changes only. Threads of the source's last round that this batch does not name
  /// wait where they did: one repeat each. Its samples and all else in it have this time.
  std::uint64_t others_ns = 0;
  std::vector<ThreadId> lost;    ///< have run since their last sample, and their stacks could not be read
  std::vector<ThreadId> unseen;  ///< have run since their last sample; the round did not look where they are now
  std::uint32_t source = 0;      ///< index of the source; `repeats` repeat samples of the same source
  std::vector<UnplacedBytes> unplaced;
  std::vector<ThreadId> ended;      ///< threads that have ended: their ids may be used again
  std::vector<CodeMapping> mapped;  ///< since the last batch of this source
  /// CLOCK_MONOTONIC, ns. Samples of a round were taken between its time and this; 0: at their own time.
  std::uint64_t until_ns = 0;
  /// The source has reported all mappings made until then (ns); 0: it does not say.
  std::uint64_t mapped_until_ns = 0;
  [[nodiscard]] bool empty() const {
    return samples.empty() && repeats.empty() && running.empty() && unseen.empty() && lost.empty() && ended.empty() &&
           unplaced.empty() && mapped.empty() && mapped_until_ns == 0 && others_ns == 0;
  }
};

/// Losses of a source since it began.
struct SourceAccount {
  std::uint64_t lost_in_kernel = 0;
  std::uint64_t lost_to_stops = 0;  ///< threads that no batch reports
  std::uint64_t skipped = 0;        ///< rounds
  std::uint64_t stopless = 0;       ///< rounds with threads `unseen`, which would have been held for too long
  std::size_t short_buffer = 0;     ///< bytes per kernel buffer, if smaller than wanted; 0: as large as wanted
  HoldHistogram holds;
};

/// Used by one thread at a time, and not by the one that walks.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  /// The recording begins: samples count from now on (CLOCK_MONOTONIC, ns). `next` may have been called before, to warm
  /// up.
  virtual void begin(std::uint64_t now_ns) = 0;
  /// Waits until samples are due, at most about 100 ms: an empty batch is no error. `no_such_process`: the target has
  /// ended; `process_changed`: it has executed another program.
  [[nodiscard]] virtual Result<SampleBatch> next(const std::stop_token& stop) = 0;
  /// The rest, when no more is asked for; then it samples no more.
  [[nodiscard]] virtual SampleBatch rest() { return {}; }
  [[nodiscard]] virtual SourceAccount account() const = 0;
  /// It stops threads by ptrace: a second tracer would be refused.
  [[nodiscard]] virtual bool holds_threads() const { return false; }
  /// "stops by ptrace, 100 Hz".
  [[nodiscard]] virtual std::string words() const = 0;
};

[[nodiscard]] inline std::uint64_t monotonic_ns() {
  // libstdc++'s steady_clock is CLOCK_MONOTONIC.
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace mixstack::record
