// How many files we may have open (RLIMIT_NOFILE), and how many of them for the threads of another process.
#pragma once

#include <cstdint>

namespace mixstack::base {

/// Files that are opened for each thread of a target and stay open have numbers below this; those above are for whoever
/// stops, reads and walks it. New descriptors have the lowest number that is free, so that one look at it is enough.
[[nodiscard]] std::uint64_t end_of_thread_files();
/// A limit with which so many of them can be open.
[[nodiscard]] std::uint64_t limit_for_thread_files(std::uint64_t files);
/// As many as we may have at all. What is started later inherits it.
void raise_file_limit();

}  // namespace mixstack::base
