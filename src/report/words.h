// Codes and small integers in words. Two forms: `..._name` is the stable identifier that JSON uses, `..._words` is what
// a person reads.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "mixstack/dump.h"

namespace mixstack::report {

[[nodiscard]] std::string_view error_name(ErrorCode);
[[nodiscard]] std::string_view arch_name(Arch);
[[nodiscard]] std::string_view consistency_name(Consistency);

/// "unreadable memory at 0x7f0012345678", with the values that the code documents and the system's own words.
[[nodiscard]] std::string error_words(const Error&);
/// "nobody knew how to continue".
[[nodiscard]] std::string_view stop_words(StopReason);
/// "resumed at a runtime Frame"; empty for `certain`.
[[nodiscard]] std::string_view trust_words(Trust);
/// "the unwind information (.eh_frame)".
[[nodiscard]] std::string_view stepper_words(StepperId);
/// 'S' -> "sleeping"; empty for an unknown letter.
[[nodiscard]] std::string_view kernel_state_words(char);
/// "412 us", "1.3 ms", "2.04 s".
[[nodiscard]] std::string duration_words(std::chrono::nanoseconds);
/// Name of a system call, or "syscall 1234" where none is known; empty for a negative number.
[[nodiscard]] std::string syscall_words(Arch, std::int64_t number);
/// The table's name alone; empty where none is known.
[[nodiscard]] std::string_view syscall_name(Arch, std::int64_t number);
/// "rax"; "r17" where the CPU's table has no name.
[[nodiscard]] std::string register_name(Arch, unsigned number);

}  // namespace mixstack::report
