// Samples by stopping threads for a moment: those that have run since their last sample.
#pragma once

#include <memory>

#include "features/record/round_clock.h"
#include "features/record/sample_source.h"
#include "features/record/stack_recorder.h"
#include "features/record/thread_watch.h"

namespace mixstack::record {

struct StopOptions {
  std::uint32_t hertz = 100;
  double most_held = 0;       ///< share of the time for which a thread may be held, 0.01 is 1 %; 0: no limit
  std::size_t together = 4;   ///< most threads held at the same time
  bool waiting_only = false;  ///< threads that run are sampled by another source
};

/// Rounds at a rate; each round covers each thread of the target. Needs the right to trace it.
class StopSource final : public SampleSource {
 public:
  /// `session` outlives it.
  StopSource(SharedSession& session, const StopOptions& options);
  void begin(std::uint64_t now_ns) override;
  [[nodiscard]] Result<SampleBatch> next(const std::stop_token& stop) override;
  [[nodiscard]] SourceAccount account() const override;
  [[nodiscard]] bool holds_threads() const override { return true; }
  [[nodiscard]] std::string words() const override;

 private:
  [[nodiscard]] Result<Capture> capture(std::vector<ThreadId> threads);
  void note_pause(const Capture& capture);

  SharedSession& session_;
  StopOptions options_;
  RoundClock clock_;
  ThreadWatch watch_;
  std::uint64_t began_ns_, due_ns_;
  std::uint64_t held_ns_ = 0;  ///< how long a thread stopped in each round has been held
  SourceAccount account_;
};

/// Sleeps until a moment (CLOCK_MONOTONIC, ns), at most 100 ms. False: it is still earlier, or a stop was requested.
[[nodiscard]] bool sleep_until(std::uint64_t when_ns, const std::stop_token& stop);

}  // namespace mixstack::record
