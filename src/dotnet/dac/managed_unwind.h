// The runtime's unwind codes for a method that a DAC has described: used where the DAC's own walk ends too early, and
// to recognise funclets.
#pragma once

#include "dotnet/dac/protocol.h"
#include "engine/images/module_map.h"
#include "engine/unwind/rule.h"
#include "engine/unwind/windows/unwind_data.h"
#include "mixstack/frame.h"
#include "mixstack/memory_reader.h"

namespace mixstack::dotnet::dac {

/// The row that unwinds an address.
struct ManagedRow {
  unwind::windows::RuntimeFunction row;
  Address image_base = 0;
  FuncletKind funclet = FuncletKind::none;
};

/// Finds the row of `pc` in `method`. For jitted code the row is in the header before the code, whose layout is the
/// same from .NET 8 to 10 (RealCodeHeader in src/coreclr/vm/codeman.h) and is used only if its MethodDesc and GC info
/// are those that the DAC named. For precompiled code it is in the exception directory of its PE image. Errors:
/// `mismatch` (the header is another's), `not_found`, `unsupported_cpu`, those of reading.
[[nodiscard]] Result<ManagedRow> managed_row(const MemoryReader& memory, const images::ModuleMap& modules, Arch arch,
                                             const Description& method, CodeAddress pc);

/// The rule that leads from the frame at `pc` to its caller.
[[nodiscard]] Result<unwind::UnwindRule> managed_rule(const MemoryReader& memory, const ManagedRow& row, Arch arch,
                                                      CodeAddress pc);

}  // namespace mixstack::dotnet::dac
