// Location expressions of variables: the operations compilers use for them.
#pragma once

#include <elfutils/libdw.h>

#include <optional>

#include "symbolize/dwarf/dwarf_file.h"

namespace mixstack::symbolize {

/// Where a value is.
struct ValuePlace {
  enum class Kind : std::uint8_t { memory, in_register, computed } kind = Kind::memory;
  std::uint64_t value = 0;  ///< address, register number, or the value itself
};

/// Executes an expression; nothing when it needs what is not known, or is not one we know. `frame_base` may be empty.
[[nodiscard]] std::optional<ValuePlace> evaluate(std::span<const Dwarf_Op> expression, const DwarfFrame& frame,
                                                 const std::optional<std::uint64_t>& frame_base);

}  // namespace mixstack::symbolize
