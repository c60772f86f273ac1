// Recognises the code that a thread's function, or main, returns to where the C library has no unwind information for
// it (musl): it ends the thread or the process.
#pragma once

#include <cstddef>
#include <span>

#include "mixstack/address.h"
#include "mixstack/registers.h"

namespace mixstack::arch {

/// The program's first instructions, from its entry point on: 38 bytes (x86-64) and 52 (AArch64) of _start in
/// glibc 2.36, less in musl. They have no caller.
inline constexpr Address kEntryCodeBytes = 128;

/// Most bytes that a decoder looks at.
inline constexpr std::size_t kTaskEndBytes = 16;

/// Whether `code`, the instructions behind a call, only pass the result to the system calls exit or exit_group.
/// Signal-safe.
[[nodiscard]] bool ends_task(Arch arch, std::span<const std::byte> code);

}  // namespace mixstack::arch
