// The Windows CONTEXT structure of each CPU, in which CoreCLR keeps and reports registers on every OS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mixstack/registers.h"
#include "mixstack/result.h"

namespace mixstack::arch {

/// Where one integer register lies.
struct ContextRegister {
  std::uint8_t reg = 0;      ///< DWARF number
  std::uint16_t offset = 0;  ///< in bytes from the start of the CONTEXT
};

/// Layout of one CPU's CONTEXT. Constants come from dotnet/runtime src/coreclr/pal/inc/pal.h and
/// src/native/managed/cdac/Microsoft.Diagnostics.DataContractReader.Contracts/Contracts/StackWalk/Context/.
struct ContextLayout {
  std::size_t size = 0;
  std::size_t flags_offset = 0;
  unsigned register_size = 8;
  std::uint32_t flags_full = 0;   ///< CONTEXT_FULL
  std::uint32_t flags_all = 0;    ///< CONTEXT_ALL
  std::uint32_t flag_xstate = 0;  ///< the CONTEXT_XSTATE bit alone, to clear it
  std::span<const ContextRegister> registers;
};

/// The layout of a known CPU, else nullptr.
[[nodiscard]] const ContextLayout* context_layout(Arch arch);

/// Writes `registers` as a CONTEXT of their CPU: exact size and offsets, every register that is not known zero and all
/// other fields zero. `context_flags` 0 means CONTEXT_FULL, what the cDAC asks its target for; ClrMD 4.1 on a live
/// AMD64 Linux process reports 0x100007 instead (control, integer, segments; observed, .NET 10.0.12).
/// `stored`, if any, is a whole CONTEXT that these registers are of: what they do not say (floating-point, vector,
/// segment and debug registers) is taken from it. `unsupported_cpu`, or `invalid_argument` (value: the size needed)
/// when `out` is smaller than the structure; bytes of `out` behind the structure are left alone. Allocates nothing.
[[nodiscard]] Result<std::size_t> encode_context(const Registers& registers, std::span<std::byte> out,
                                                 std::uint32_t context_flags = 0,
                                                 std::span<const std::byte> stored = {});

/// Reads a CONTEXT. All integer registers, pc and sp become known, whatever ContextFlags says: CoreCLR does not keep
/// the flags of its stored contexts meaningful. `unsupported_cpu` or `truncated`.
[[nodiscard]] Result<Registers> decode_context(Arch arch, std::span<const std::byte> context);

/// ContextFlags of a CONTEXT; `truncated` when it does not hold them.
[[nodiscard]] Result<std::uint32_t> context_flags(Arch arch, std::span<const std::byte> context);

}  // namespace mixstack::arch
