// Codes and small integers in words, as in base/words/words.h: names for JSON, words for people.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/words/words.h"
#include "mixstack/dump.h"

namespace mixstack::report {

using words::error_name;
using words::error_words;
using words::stepper_words;
using words::stop_words;
using words::trust_words;

[[nodiscard]] std::string_view arch_name(Arch);
[[nodiscard]] std::string_view consistency_name(Consistency);

/// 'S' -> "sleeping"; empty for an unknown letter.
[[nodiscard]] std::string_view kernel_state_words(char);
/// "412 us", "1.3 ms", "2.04 s".
[[nodiscard]] std::string duration_words(std::chrono::nanoseconds);
/// "1 sample", "2 samples"; "0 processes" with a `plural` of its own.
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view one, std::string_view plural = {});
/// How long a program has run: "12 s", "3 h", "40 d".
[[nodiscard]] std::string age_words(std::chrono::nanoseconds);
/// "412 MB", "1.9 GB": of 1,000,000 and 1,000,000,000 bytes.
[[nodiscard]] std::string size_words(std::uint64_t bytes);
/// Name of a system call, or "syscall 1234" where none is known; empty for a negative number.
[[nodiscard]] std::string syscall_words(Arch, std::int64_t number);
/// The table's name alone; empty where none is known.
[[nodiscard]] std::string_view syscall_name(Arch, std::int64_t number);
/// "rax"; "r17" where the CPU's table has no name.
[[nodiscard]] std::string register_name(Arch, unsigned number);

}  // namespace mixstack::report
