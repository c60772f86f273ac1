// Reasons in words. Two forms: `..._name` is the stable identifier that JSON uses, `..._words` is what a person reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mixstack/frame.h"
#include "mixstack/result.h"

namespace mixstack::words {

/// `value` of `thread_not_stopped`: stops were not allowed, and the thread ran.
inline constexpr std::uint64_t kWasRunning = ~std::uint64_t{0};

/// `value` of `unsupported` for a thread: a task that the kernel runs inside the process. It has no code and no stack
/// of the program, and cannot be stopped.
inline constexpr std::uint64_t kIoWorker = ~std::uint64_t{0} - 1, kKernelTask = kIoWorker - 1;
[[nodiscard]] constexpr bool is_kernel_task(const Error& error) {
  return error.code == ErrorCode::unsupported && (error.value == kIoWorker || error.value == kKernelTask);
}

[[nodiscard]] std::string_view error_name(ErrorCode);
/// "memory that cannot be read (0x7f00)", with the value that the code documents and the system's error message.
[[nodiscard]] std::string error_words(const Error&);
/// "nothing describes how to continue from here".
[[nodiscard]] std::string_view stop_words(StopReason);
/// The name of the box where callers are not known: "[cut: no_unwind_info]".
[[nodiscard]] std::string cut_name(StopReason);
/// "resumed at a runtime Frame"; empty for `certain`.
[[nodiscard]] std::string_view trust_words(Trust);
/// "unwind information (.eh_frame)".
[[nodiscard]] std::string_view stepper_words(StepperId);

}  // namespace mixstack::words
