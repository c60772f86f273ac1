// Location expressions of variables: the operations that compilers use for them.
#pragma once

#include <elfutils/libdw.h>

#include <functional>
#include <optional>
#include <vector>

#include "engine/dwarf/dwarf_file.h"

namespace mixstack::symbols {

/// The place of a value, or of a piece of it.
struct ValuePlace {
  enum class Kind : std::uint8_t { memory, in_register, computed, constant, nowhere } kind = Kind::memory;
  std::uint64_t value = 0;           ///< address, register number, or the value itself
  std::span<const std::byte> bytes;  ///< of a constant; the debug information's own
  std::size_t size = 0;              ///< bytes of a piece, 0: it is the whole value
};

/// The frame and the attribute of an expression.
struct ExpressionInput {
  const DwarfFrame& frame;
  std::optional<std::uint64_t> frame_base;
  Dwarf_Attribute* attribute = nullptr;  ///< the expression's attribute; without it, blocks and types cannot be read
  /// Gives the value of a register at function entry; may be empty.
  std::function<std::optional<std::uint64_t>(std::uint64_t reg)> entry_value;
};

/// Executes an expression; nothing when it needs an unknown value or an unknown operation. In the order of the value's
/// bytes; several places where it is in pieces.
[[nodiscard]] std::optional<std::vector<ValuePlace>> evaluate(std::span<const Dwarf_Op> expression,
                                                              const ExpressionInput& input);

/// Bytes of a general or vector register by its DWARF number, at most `size`; empty when it is not known or smaller.
[[nodiscard]] std::vector<std::byte> register_bytes(const DwarfFrame& frame, std::uint64_t reg, std::size_t size);

}  // namespace mixstack::symbols
