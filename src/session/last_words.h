// Messages that libraries and runtimes left in a process's memory for the moment of its end.
#pragma once

#include <vector>

#include "dotnet/runtime/aot_threads.h"
#include "engine/images/module_map.h"
#include "mixstack/dump.h"
#include "mixstack/memory_reader.h"

namespace mixstack::session {

/// The crash record of NativeAOT. `header`: DotNetRuntimeDebugHeader.
void read_aot_crash(const MemoryReader& memory, Address header, ProcessDump& dump);
/// Adds libc's abort message (failed checks of heap and stack, an assert), and a diagnosis for a runtime that is mapped
/// and could not be opened.
void tell_of_end(const images::ModuleMap& modules, const MemoryReader& memory, const std::vector<Region>& regions,
                 const std::vector<Diagnosis>& of_target, ProcessDump& dump);

}  // namespace mixstack::session
