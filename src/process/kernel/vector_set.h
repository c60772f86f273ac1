// Floating-point and vector registers of a thread, as notes of a core, ptrace and signal frames hold them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "mixstack/memory_reader.h"
#include "mixstack/registers.h"
#include "mixstack/target.h"

namespace mixstack::process {

/// Large enough for all that is decoded here, of every CPU.
inline constexpr std::size_t kVectorSetBytes = 576 + 256;

/// Bytes of an xmm or v register.
inline constexpr std::size_t kVectorHalf = 16;
/// `count` of them that lie one behind the other.
[[nodiscard]] VectorRegisters take_vectors(std::span<const std::byte> bytes, std::size_t offset, std::size_t count);

namespace x86_64 {
/// NT_FPREGSET: `struct user_i387_struct` (the FXSAVE area, Intel SDM volume 1, 10.5.1): xmm0 to xmm15. Nothing when it
/// is too short.
[[nodiscard]] std::optional<VectorRegisters> decode_fp_registers(std::span<const std::byte> bytes);
/// NT_X86_XSTATE: the XSAVE area in its standard form (Intel SDM volume 1, 13.4): ymm0 to ymm15 where XSTATE_BV says
/// that the upper halves are there, else xmm0 to xmm15.
[[nodiscard]] std::optional<VectorRegisters> decode_xstate(std::span<const std::byte> bytes);
[[nodiscard]] std::optional<VectorRegisters> read_interrupted_vectors(const MemoryReader& memory, Address sp);
}  // namespace x86_64
namespace aarch64 {
/// `struct user_fpsimd_state` (arch/arm64/include/uapi/asm/ptrace.h): v0 to v31.
[[nodiscard]] std::optional<VectorRegisters> decode_fp_registers(std::span<const std::byte> bytes);
[[nodiscard]] std::optional<VectorRegisters> read_interrupted_vectors(const MemoryReader& memory, Address sp);
}  // namespace aarch64

/// Whether `type` is that of the core note (of owner LINUX) that may hold more of the registers than NT_FPREGSET.
[[nodiscard]] bool is_extended_vector_note(Arch arch, std::uint32_t type);

/// The bytes of NT_FPREGSET.
[[nodiscard]] std::optional<VectorRegisters> decode_fp_registers(Arch arch, std::span<const std::byte> bytes);
/// The bytes of the extended note or, where there is none, of NT_FPREGSET.
[[nodiscard]] std::optional<VectorRegisters> decode_vectors(Arch arch, std::span<const std::byte> bytes);

/// Those of the code that a signal interrupted, from the frame that the kernel pushed: `sp` is that of its return path
/// (a frame of kind signal_trampoline). Null where there are none.
[[nodiscard]] std::shared_ptr<const VectorRegisters> read_interrupted_vectors(Arch arch, const MemoryReader& memory,
                                                                              Address sp);
/// Null for none.
[[nodiscard]] std::shared_ptr<const VectorRegisters> shared_vectors(std::optional<VectorRegisters> set);

}  // namespace mixstack::process
