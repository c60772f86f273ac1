// Answers system calls that name a file: the filter lets none of them reach the kernel.
#pragma once

namespace mixstack::helper {

/// Opens the few files that a DAC and its C library may ask for, at the descriptors after kHelperDac. A missing file is
/// left out. False when a descriptor cannot be placed.
[[nodiscard]] bool open_answered_files();

/// From now on a SIGSYS handler answers the calls that the filter traps: opening the DAC's name or one of the files
/// above returns a copy of its descriptor; fstat by an empty path becomes fstat; no part of
/// /proc/self/exe is a link; statx fails with ENOSYS, everything
/// else with ENOENT. Foreign code may replace the handler and gains nothing: the call itself is never made.
[[nodiscard]] bool answer_file_calls();

}  // namespace mixstack::helper
