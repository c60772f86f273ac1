// Recognises the code that a signal handler returns to, where it has no call frame information: the AArch64 vDSO since
// Linux 5.8, musl, static and JIT-compiled code.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "engine/unwind/rule.h"
#include "mixstack/registers.h"

namespace mixstack::unwind {

/// Longest instruction sequence that is looked at.
inline constexpr std::size_t kSignalTrampolineBytes = 9;

/// The rule of a frame whose pc is at `code` if those bytes are Linux' rt_sigreturn sequence: the registers lie in the
/// ucontext that the kernel pushed, and the caller was interrupted. The sequence is unmistakable (it loads the number
/// of a system call that makes sense nowhere else), so the rule is `certain`.
[[nodiscard]] std::optional<UnwindRule> match_signal_trampoline(Arch arch, std::span<const std::byte> code);

/// The vDSO of AArch64 kernels before 5.8 describes its trampoline (arch/arm64/kernel/vdso/sigreturn.S: CFA = x29, x29
/// and x30 at it) by the frame record that the kernel leaves for walkers, which knows neither the interrupted pc nor
/// its registers. Such a rule becomes the one above; others stay as they are.
void correct_old_trampoline(Arch arch, UnwindRule& rule);

/// Offset of the kernel's siginfo from sp at the trampoline; nothing: not looked up for this CPU. (x86-64: behind the
/// ucontext, whose size is fixed since the vector registers lie elsewhere; AArch64: first.)
[[nodiscard]] std::optional<unsigned> signal_info_offset(Arch arch);

}  // namespace mixstack::unwind
