// Where a new thread goes from the instructions behind the clone system call that made it. The C libraries' clone
// wrappers have no CFI there, since parent and child return to the same place on different stacks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "mixstack/registers.h"

namespace mixstack::arch {

/// The most bytes any decoder looks at.
inline constexpr std::size_t kMaxCloneReturnLength = 16;

/// Whether a thread with these registers can be one at all: spares the others a look at their code. Signal-safe.
[[nodiscard]] bool may_be_child_of_clone(const Registers& registers);

/// If `code`, the instructions at `pc`, test the result of a system call for zero and branch, and the result register
/// is zero (a child), answers the branch target. Nothing otherwise. Signal-safe.
[[nodiscard]] std::optional<Address> child_after_clone(const Registers& registers, std::span<const std::byte> code);

}  // namespace mixstack::arch
