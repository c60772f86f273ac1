// How many files we may have open (RLIMIT_NOFILE), and how many of them for the threads of another process.
#pragma once

#include <cstdint>

namespace mixstack::base {

/// The first descriptor number that per-thread files must not use. Those files stay open; the numbers from here on are
/// for stopping, reading and walking the target. A new descriptor gets the lowest free number, so one check tells.
[[nodiscard]] std::uint64_t end_of_thread_files();
/// The RLIMIT_NOFILE that `files` such files need.
[[nodiscard]] std::uint64_t limit_for_thread_files(std::uint64_t files);
/// Raises our limit to the hard limit. Programs started later inherit it.
void raise_file_limit();

}  // namespace mixstack::base
