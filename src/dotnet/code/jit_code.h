// Code made by the JIT: from an address in a code heap to the method and the row that unwinds it.
#pragma once

#include "dotnet/code/function_table.h"
#include "dotnet/code/nibble_map.h"
#include "dotnet/code/range_sections.h"
#include "mixstack/frame.h"

namespace mixstack::dotnet {

struct JitCode {
  std::uint64_t stub_block = 0;  ///< kind of stub (StubCodeBlockKind); then there is neither method nor row
  bool is_stub = false;
  FuncletKind funclet = FuncletKind::none;
  Address method_start = 0;
  Address code_header = 0;  ///< RealCodeHeader
  Address method_desc = 0;
  FunctionRow row;
};

/// The code at `pc` of a code heap. `not_found`: no method there. Errors of reading otherwise. For an OSR method, the
/// body that runs is found, not the tier-0 body that it replaced.
/// Sources: EEJitManager::JitCodeToMethodInfo in src/coreclr/vm/codeman.cpp; ExecutionManager.md.
[[nodiscard]] Result<JitCode> find_jit_code(const RuntimeMemory& memory, const RangeSection& section,
                                            NibbleMapForm form, Address pc);

}  // namespace mixstack::dotnet
