// The Windows CONTEXT structure of each CPU, in which CoreCLR keeps and reports registers on every OS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mixstack/registers.h"
#include "mixstack/result.h"

namespace mixstack::arch {

/// The place of one integer register.
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

/// Writes `registers` as a CONTEXT of their CPU: exact size and offsets, unknown registers and all other fields zero.
/// `context_flags` 0 means CONTEXT_FULL, which the cDAC asks for; ClrMD 4.1 on a live AMD64 Linux process reports
/// 0x100007 instead (control, integer, segments; observed, .NET 10.0.12). `stored`, if any, is the complete CONTEXT of
/// these registers: floating-point, vector, segment and debug registers are taken from it. Errors: `unsupported_cpu`;
/// `invalid_argument` (value: the size needed) if `out` is smaller than the structure. Bytes of `out` behind the
/// structure are not changed. Returns the size. Allocates nothing.
[[nodiscard]] Result<std::size_t> encode_context(const Registers& registers, std::span<std::byte> out,
                                                 std::uint32_t context_flags = 0,
                                                 std::span<const std::byte> stored = {});

/// Reads a CONTEXT. All integer registers, pc and sp become known, whatever ContextFlags says: CoreCLR does not
/// maintain the flags of its stored contexts. Errors: `unsupported_cpu`, `truncated`.
[[nodiscard]] Result<Registers> decode_context(Arch arch, std::span<const std::byte> context);

/// ContextFlags of a CONTEXT. Errors: `truncated`, `unsupported_cpu`.
[[nodiscard]] Result<std::uint32_t> context_flags(Arch arch, std::span<const std::byte> context);

}  // namespace mixstack::arch
