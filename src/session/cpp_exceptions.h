// The C++ exception that brought a thread to std::terminate, as libstdc++ keeps it.
#pragma once

#include "engine/images/module_map.h"
#include "mixstack/dump.h"
#include "mixstack/memory_reader.h"

namespace mixstack::session {

/// Reports the exception of each thread that libstdc++ brought to std::terminate: its type, and its text where its
/// layout is proved, as a diagnosis (`kLastWordsSubject`). Needs the names of frames. 64-bit only.
void tell_of_cpp_exceptions(const images::ModuleMap& modules, const MemoryReader& memory, ProcessDump& dump);

}  // namespace mixstack::session
