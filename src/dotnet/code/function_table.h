// RUNTIME_FUNCTION tables: sorted rows that say where each function, funclet or fragment lies and how it unwinds.
#pragma once

#include <optional>

#include "dotnet/contracts/runtime_memory.h"
#include "engine/unwind/windows/unwind_data.h"

namespace mixstack::dotnet {

struct FunctionRow {
  std::uint32_t index = 0;
  Address address = 0;  ///< of the row
  unwind::windows::RuntimeFunction function;
  /// One past the function's last byte, relative like the rest; from the row (x64) or its unwind data (ARM64). 0 when
  /// it could not be found out.
  std::uint32_t end = 0;
};

/// A table in target memory, rows ascending by begin address. A value that borrows nothing; addresses are relative to
/// `image_base`.
struct FunctionTable {
  Address rows = 0;
  std::uint32_t count = 0;
  Address image_base = 0;

  [[nodiscard]] Result<FunctionRow> row(const RuntimeMemory& memory, std::uint32_t index) const;
  /// The row that covers `rva`. `not_found` when `rva` lies before the first row or behind the end of its row.
  [[nodiscard]] Result<FunctionRow> find(const RuntimeMemory& memory, std::uint32_t rva) const;
  /// The same for the few rows of a jitted method, where reserved rows that were never filled ({0,0,0}) may stand
  /// anywhere and are skipped. Answers the row's index among the filled ones in `ordinal`.
  [[nodiscard]] Result<FunctionRow> find_among_few(const RuntimeMemory& memory, std::uint32_t rva,
                                                   std::uint32_t& ordinal) const;

  static constexpr std::uint32_t kMaxFewRows = 1u << 16;
};

/// Whether a row describes a later piece of a function rather than the start of a function or funclet: chained unwind
/// data on x64; on ARM64 unwind codes that begin with end_c (IsFunctionFragment in src/coreclr/vm/codeman.cpp).
[[nodiscard]] bool is_fragment(const RuntimeMemory& memory, Address image_base, const FunctionRow& row);

}  // namespace mixstack::dotnet
