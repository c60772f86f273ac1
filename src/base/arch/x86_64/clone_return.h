// The clone wrappers of x86-64 C libraries: test %rax,%rax; jl error; je child.
#pragma once

#include "base/arch/clone_return.h"

namespace mixstack::arch::x86_64 {

/// Where the result of a system call is: 0 in the child.
inline constexpr unsigned kCloneResult = x86_64_reg::rax;

/// Forms: 48 85 C0 / 85 C0 (test), 7C/78 rel8 and 0F 8C/88 rel32 (jl, js), 74 rel8 and 0F 84 rel32 (je), any prefix
/// of that sequence already executed. Source: Intel SDM volume 2, Jcc and TEST.
[[nodiscard]] std::optional<Address> child_after_clone(const Registers& registers, std::span<const std::byte> code);

}  // namespace mixstack::arch::x86_64
