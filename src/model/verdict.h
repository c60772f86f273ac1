// Why a process is stuck or slow, as data: what `mixstack why` concludes from a dump with waits.
#pragma once

#include <cstdint>
#include <vector>

#include "mixstack/async.h"

namespace mixstack {

enum class VerdictKind : std::uint8_t {
  deadlock,           ///< threads that wait for each other in a circle
  await_circle,       ///< async methods that await each other in a circle
  starved_pool,       ///< every worker of the thread pool waits while work is queued
  stuck_suspension,   ///< the runtime cannot stop its threads: one of them does not let it
  blocked_finalizer,  ///< the thread that runs finalizers waits
  orphaned_lock,      ///< threads wait for a lock that a thread held when it ended
  process_cycle,      ///< a thread waits for another process, which waits for this one
  stopped_process,    ///< a thread waits for another process, which a signal has stopped
  chain,              ///< threads wait, one behind the other, for one that waits for something else or runs
};

/// One thread of a verdict. What it waits for is in its dump.
struct VerdictStep {
  std::uint32_t thread = 0;
  std::uint32_t waits_for = 0;  ///< the thread that holds what it waits for; 0: nobody, or nobody can know
};

struct Verdict {
  VerdictKind kind = VerdictKind::chain;
  /// Every step is recorded by the runtime or the kernel, or proved. Otherwise it is possible, no more.
  bool is_certain = false;
  /// Of a circle each waits for the next, the last for the first. Of a starved pool they are the workers that wait for
  /// queued work, or all of them. Of a chain the last is the one that all wait for. Of async
  /// methods they are the threads that wait for the circle: mostly there are none.
  std::vector<VerdictStep> steps;
  std::uint32_t threads = 0;         ///< how many threads it holds up, those of `steps` and others
  std::vector<AsyncStep> methods{};  ///< of `await_circle`: each awaits the next, the last the first
  std::uint32_t circles = 1;         ///< of `await_circle`: as many of the same methods
};

}  // namespace mixstack
