// Floating-point and vector registers of a thread, as notes of a core, ptrace and signal frames hold them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "mixstack/memory_reader.h"
#include "mixstack/registers.h"
#include "mixstack/target.h"

namespace mixstack::target {

/// NT_FPREGSET: `struct user_i387_struct` (the FXSAVE area, Intel SDM volume 1, 10.5.1) on x86-64: xmm0 to xmm15;
/// `struct user_fpsimd_state` (arch/arm64/include/uapi/asm/ptrace.h) on AArch64: v0 to v31. Nothing when it is too
/// short.
[[nodiscard]] std::optional<VectorRegisters> decode_fp_registers(Arch arch, std::span<const std::byte> bytes);

/// NT_X86_XSTATE: the XSAVE area in its standard form (Intel SDM volume 1, 13.4): ymm0 to ymm15 where XSTATE_BV says
/// that the upper halves are there, else xmm0 to xmm15.
[[nodiscard]] std::optional<VectorRegisters> decode_xstate(std::span<const std::byte> bytes);

/// Large enough for all that is decoded here, of every CPU.
inline constexpr std::size_t kVectorSetBytes = 576 + 256;

/// The bytes of NT_X86_XSTATE or, on other CPUs and where there is none, of NT_PRFPREG.
[[nodiscard]] std::shared_ptr<const VectorRegisters> decode_vectors(Arch arch, std::span<const std::byte> bytes);

/// Those of the code that a signal interrupted, from the frame that the kernel pushed: `sp` is that of its return path
/// (a frame of kind signal_trampoline). Null where there are none.
[[nodiscard]] std::shared_ptr<const VectorRegisters> read_interrupted_vectors(Arch arch, const MemoryReader& memory,
                                                                              Address sp);

}  // namespace mixstack::target
