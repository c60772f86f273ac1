// Why a process is stuck or slow, as data: concluded by `mixstack why` from a dump with waits.
#pragma once

#include <cstdint>
#include <vector>

#include "mixstack/async.h"

namespace mixstack {

enum class VerdictKind : std::uint8_t {
  deadlock,           ///< threads that wait for each other in a cycle
  await_cycle,        ///< async methods that await each other in a cycle
  starved_pool,       ///< every worker of the thread pool waits while work is queued
  stuck_suspension,   ///< the runtime cannot stop its threads: one of them prevents it
  blocked_finalizer,  ///< the finalizer thread waits
  orphaned_lock,      ///< threads wait for a lock whose owner has ended
  process_cycle,      ///< a thread waits for another process, which waits for this one
  stopped_process,    ///< a thread waits for another process, which a signal has stopped
  chain,              ///< threads wait, one behind the other, for one that waits for something else or runs
};

/// One thread of a verdict. Its dump has its wait.
struct VerdictStep {
  std::uint32_t thread = 0;
  std::uint32_t waits_for = 0;  ///< the owner of what it waits for; 0: none, or not known
};

struct Verdict {
  VerdictKind kind = VerdictKind::chain;
  /// Every step is recorded by the runtime or the kernel, or proved. Otherwise the verdict is only possible.
  bool is_certain = false;
  /// `deadlock`: each waits for the next, the last for the first. `starved_pool`: the workers that wait for queued
  /// work, or all workers. `chain`: the last is the one that all wait for. `await_cycle`: threads that wait for the
  /// cycle, mostly none.
  std::vector<VerdictStep> steps;
  std::uint32_t threads = 0;         ///< threads blocked by it, those of `steps` and others
  std::vector<AsyncStep> methods{};  ///< for `await_cycle`: each awaits the next, the last the first
  std::uint32_t cycles = 1;          ///< for `await_cycle`: how many cycles of these methods
  bool may_time_out = false;         ///< a wait of it ends by its own time-out, and the verdict with it
};

}  // namespace mixstack
