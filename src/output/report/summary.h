// How complete a dump is.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "mixstack/dump.h"

namespace mixstack::report {

struct Summary {
  std::size_t threads = 0;
  std::size_t not_captured = 0;           ///< threads that are there but could not be stopped or read
  std::size_t gone = 0;                   ///< threads that exited while they were being stopped: nothing is missing
  std::size_t cut = 0;                    ///< captured threads whose stack's end was not reached
  std::size_t too_slow = 0;               ///< of `not_captured`: did not stop before the deadline
  std::size_t ran = 0;                    ///< of `not_captured`: nothing was to be stopped, and they ran
  std::size_t failures = 0;               ///< diagnoses of the process: lists that could not be read whole, ...
  std::size_t runtimes_not_walkable = 0;  ///< runtimes found whose managed frames could not be walked
};

[[nodiscard]] Summary summarize(const ProcessDump& dump);

/// Whether something that was asked for is missing from the dump (exit code 7). Cut stacks are marked where they are
/// and do not count.
[[nodiscard]] bool is_partial(const Summary& summary);

/// "1 of 12 threads could not be captured. 2 stacks are cut." Empty when all is complete.
[[nodiscard]] std::string summary_words(const Summary& summary);

/// Threads of `asked` that are not in the dump.
[[nodiscard]] std::vector<ThreadId> absent_threads(const ProcessDump& dump, std::span<const ThreadId> asked);

}  // namespace mixstack::report
