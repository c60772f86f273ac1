// State that the captures of one live process leave to the next one, so that it need not find it out again.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "process/live/process_usage.h"
#include "process/live/stack_copies.h"
#include "process/live/thread_stats.h"

namespace mixstack::process {

/// Member of the live target. Nothing here decides what is captured: a wrong expectation costs time.
struct LastCapture {
  explicit LastCapture(const ProcDir& proc) : stats(proc), use(proc.pid()) {}

  ThreadStats stats;
  UsageMeter use;                     ///< since the last capture, or since the process was opened
  std::vector<ThreadId> programs;     ///< threads that are no tasks of the kernel, sorted
  std::vector<ThreadId> all_threads;  ///< when they were last listed
  /// The mappings, and what the kernel said of their sizes before they were read; null: not to be used again.
  std::shared_ptr<const std::vector<Region>> regions;
  MappedSizes sizes;
  /// For mappings of no capture: when they were listed.
  std::optional<std::chrono::steady_clock::time_point> listed_at;
  std::size_t usual_stack = 0;       ///< bytes of a stack, on average; 0 before the first capture
  std::vector<ThreadId> threads;     ///< that had these mappings and `roots`
  std::vector<AddressRange> roots;   ///< all that was read for the runtime's roots; empty: not known
  std::shared_ptr<StackBytes> room;  ///< used again when no capture holds it any more
};

}  // namespace mixstack::process
