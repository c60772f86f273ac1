// Names of the system calls of this CPU, by number.
#pragma once

#include <span>
#include <string_view>

namespace mixstack::report::aarch64 {

/// Index: the number. Empty where no call has it.
[[nodiscard]] std::span<const std::string_view> syscall_names();

}  // namespace mixstack::report::aarch64
