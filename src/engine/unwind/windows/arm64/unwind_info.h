// Unwind data of ARM64: .xdata records and packed words. Sources: "ARM64 exception handling" of the Microsoft C++
// documentation; dotnet/runtime src/coreclr/unwinder/arm64/unwinder.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/unwind/windows/unwind_data.h"
#include "mixstack/result.h"

namespace mixstack::unwind::windows::arm64 {

/// Low two bits of a row's unwind word.
enum class RowKind : std::uint8_t {
  xdata = 0,            ///< RVA of a record
  packed_function = 1,  ///< packed, with prologue and epilogue
  packed_fragment = 2,  ///< packed, neither: the prologue ran elsewhere
  forwarded = 3,        ///< RVA of another row
};
[[nodiscard]] constexpr RowKind row_kind(const RuntimeFunction& f) { return static_cast<RowKind>(f.unwind_data & 3); }

/// The most code bytes a record can hold: 255 words.
inline constexpr std::size_t kMaxCodeBytes = 4 * 255;

/// Unwind codes of one function. Offsets and lengths in instructions.
struct UnwindInfo {
  std::uint32_t length = 0;          ///< of the function or fragment
  std::uint32_t code_size = 0;       ///< bytes of `codes` in use
  bool single_epilogue = false;      ///< E: one epilogue, at the function's end
  std::uint32_t epilogue_index = 0;  ///< E: its first code byte
  std::uint32_t scope_count = 0;     ///< epilogue scope words otherwise
  std::uint32_t scopes_rva = 0;      ///< where they lie
  std::array<std::byte, kMaxCodeBytes> codes;

  [[nodiscard]] std::span<const std::byte> code_bytes() const { return std::span(codes).first(code_size); }
  /// Reads the record at `rva`. `unsupported` for a version other than 0.
  [[nodiscard]] Result<void> load(const UnwindDataSource& data, std::uint32_t rva);
  /// Makes the codes a packed word stands for (its kind must be packed).
  void expand(std::uint32_t packed);
};

/// Bytes of the code that starts with `first`, that byte included.
[[nodiscard]] unsigned code_length(unsigned first);
/// Whether the code stands for an instruction.
[[nodiscard]] bool is_instruction(unsigned first);
/// end or end_c.
[[nodiscard]] constexpr bool is_end(unsigned first) { return (first & 0xfe) == 0xe4; }
/// Instructions the codes from `index` on stand for, up to an end.
[[nodiscard]] std::uint32_t instruction_count(std::span<const std::byte> codes, std::size_t index);

}  // namespace mixstack::unwind::windows::arm64
