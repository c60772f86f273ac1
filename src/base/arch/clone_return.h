// Finds where a new thread continues behind the clone system call that made it. The C libraries' clone wrappers have no
// CFI there, since parent and child return to the same place on different stacks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "mixstack/registers.h"

namespace mixstack::arch {

/// Most bytes that a decoder looks at.
inline constexpr std::size_t kMaxCloneReturnLength = 16;

/// Whether these registers can be a new thread's: saves reading the code of others. Signal-safe.
[[nodiscard]] bool may_be_child_of_clone(const Registers& registers);

/// The branch target, if `code`, the instructions at `pc`, test the result of a system call for zero and branch, and
/// the result register is zero (a child). Nothing otherwise. Signal-safe.
[[nodiscard]] std::optional<Address> child_after_clone(const Registers& registers, std::span<const std::byte> code);

}  // namespace mixstack::arch
