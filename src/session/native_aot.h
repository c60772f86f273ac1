// Programs that .NET compiled ahead of time: they have a runtime, and no code that a JIT made.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "dotnet/contracts/descriptor.h"
#include "engine/dwarf/dwarf_symbols.h"
#include "engine/images/module_map.h"
#include "mixstack/dump.h"
#include "mixstack/memory_reader.h"
#include "mixstack/symbolizer.h"

namespace mixstack::session {

/// The NativeAOT runtime inside `executable`: it exports DotNetRuntimeDebugHeader
/// (src/coreclr/nativeaot/Runtime/DebugHeader.cpp; .NET 8 to 10), or a descriptor that says what it is of. Nothing for
/// other programs. Its methods are native frames.
struct NativeAot {
  RuntimeSummary summary;
  ModuleIndex module = kNoModule;
  Address debug_header = 0;                      ///< DotNetRuntimeDebugHeader; 0: it has a descriptor
  std::optional<dotnet::Descriptor> descriptor;  ///< from .NET 11 on
};
/// `memory` reads what is constant once it is loaded.
[[nodiscard]] std::optional<NativeAot> find_native_aot(const images::ModuleMap& modules, std::string_view executable,
                                                       const MemoryReader& memory);

/// Marks the captured threads that the runtime lists. `captured` has the copied stacks over the memory: threads keep
/// there what the runtime says of them, so that it is as old as the capture. The list itself may change meanwhile;
/// where it cannot be followed to its end, it is read again, as it is `now` (null: it does not change).
void mark_aot_threads(const NativeAot& aot, const MemoryReader& captured, const MemoryReader* now, ProcessDump& dump);

/// Names by `names`, the metadata of the program, with lines and inlined functions by debug information.
[[nodiscard]] std::shared_ptr<NameProvider> with_lines(std::shared_ptr<NameProvider> names,
                                                       symbols::DwarfSymbols& lines);

}  // namespace mixstack::session
