// Finds one row of call frame information in compact form, without allocation: for walks inside signal handlers, which
// cannot build a table.
#pragma once

#include <optional>

#include "engine/unwind/cfi_compiler.h"
#include "engine/unwind/cfi_section.h"
#include "engine/unwind/compact_rule.h"

namespace mixstack::unwind {

/// A CIE with the first row of its functions, kept by the caller from look-up to look-up: neighbours share it.
struct InitialRow {
  Cie cie;
  CfiCompiler::State state;
};
/// Errors as `read_cie`.
[[nodiscard]] Result<InitialRow> read_initial_row(const CfiSection& section, std::uint64_t cie_offset);

/// The compact rule at `pc`, which `fde` must cover; equal to the compiled table's. Kind `interpret`: the row has no
/// compact form, or the instructions are broken. The derived fields except `origin` are zero. Signal-safe: allocates
/// nothing and reads the entry's bytes only.
[[nodiscard]] CompactRule compact_row(const CfiSection& section, const InitialRow& initial, const Fde& fde,
                                      std::uint64_t pc);

}  // namespace mixstack::unwind
