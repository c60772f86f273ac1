// Counters and evidence from the first look at a process to the last, and the causes of slowness that they show.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "features/record/stack_recorder.h"
#include "features/why/kernel_causes.h"
#include "features/why/lock_tally.h"
#include "features/why/pool_tally.h"
#include "features/why/runtime_causes.h"
#include "mixstack/busy.h"
#include "mixstack/counters.h"
#include "mixstack/dump.h"
#include "mixstack/recording.h"
#include "mixstack/slowness.h"
#include "process/live/proc_dir.h"

namespace mixstack::why {

/// Stops nothing. One thread at a time; `begin` first.
class SlowWatch {
 public:
  SlowWatch(std::shared_ptr<record::SharedSession> session, std::uint32_t pid);

  void begin();
  /// Reads the reason of the last collection, which the next one writes over.
  void poll();
  /// Lets time pass until so long after `begin`.
  void pass_until(std::chrono::milliseconds since_begin);
  /// Whether the process does nothing now, and has done hardly anything since it began.
  [[nodiscard]] bool rests();
  /// Takes note of a look of `why`.
  void look(const ProcessDump& dump, std::chrono::steady_clock::time_point at) { pool_.add(dump, at); }
  /// Whether more looks may show that work is queued faster than it is done.
  [[nodiscard]] bool may_queue_grow() const { return pool_.any(); }
  /// Whether something is spent that more looks and samples would explain, by counters up to now.
  [[nodiscard]] bool spends();
  /// Whether page faults should be sampled.
  [[nodiscard]] bool touches_memory() const;
  void end();

  /// `dump` is of the last look.
  [[nodiscard]] Health health(const ProcessDump& dump) const;
  /// After `end`. Causes that have places, where samples or the dump show them; dearest first. `recording` and `busy`
  /// may be null.
  [[nodiscard]] std::vector<SlowCause> causes(const ProcessDump& dump, const LockTally& locks, const Busyness* busy,
                                              const Recording* recording) const;

 private:
  [[nodiscard]] Counters read() const;
  void look_for_types();

  std::shared_ptr<record::SharedSession> session_;
  std::uint32_t pid_;
  std::optional<process::ProcDir> proc_;  ///< nothing: it has ended
  KernelWatch kernel_;
  RuntimeTally tally_;
  PoolTally pool_;
  Counters before_, after_;
  KernelEvidence evidence_;
};

}  // namespace mixstack::why
