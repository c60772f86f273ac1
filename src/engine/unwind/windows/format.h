// The unwind codes of each CPU behind one interface.
#pragma once

#include "engine/unwind/rule.h"
#include "engine/unwind/windows/unwind_data.h"
#include "mixstack/registers.h"

namespace mixstack::unwind::windows {

/// The format of one CPU.
struct Format {
  Result<UnwindRule> (*rule)(const UnwindDataSource&, const FunctionLocation&) = nullptr;
  bool row_has_end = false;  ///< RUNTIME_FUNCTION says where the function ends, and is 4 bytes longer
  /// Whether a row belongs to a later part of a function, which has no prologue of its own.
  bool (*is_fragment)(const UnwindDataSource&, const RuntimeFunction&) = nullptr;
  /// Bytes from the row's begin in which the frame is not whole yet; nothing where that cannot be read. Null: this
  /// CPU's data does not say.
  std::optional<std::uint32_t> (*prologue_size)(const UnwindDataSource&, const RuntimeFunction&) = nullptr;
  /// Bytes of the function or fragment, from its unwind data. Null: its row says where it ends.
  Result<std::uint32_t> (*length)(const UnwindDataSource&, const RuntimeFunction&) = nullptr;
};

/// nullptr for a CPU whose managed code is unwound otherwise (x86: by GCInfo), or not at all.
[[nodiscard]] const Format* format_of(Arch arch);

}  // namespace mixstack::unwind::windows
