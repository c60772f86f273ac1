// What exception of C++ brought a thread to std::terminate, as libstdc++ keeps it.
#pragma once

#include "engine/images/module_map.h"
#include "mixstack/dump.h"
#include "mixstack/memory_reader.h"

namespace mixstack::session {

/// Of each thread that the exception machinery of libstdc++ brought to std::terminate: the exception's type, and what
/// it says where its layout is proved, as a diagnosis (`kLastWordsSubject`). Needs the names of frames. 64-bit only.
void tell_of_cpp_exceptions(const images::ModuleMap& modules, const MemoryReader& memory, ProcessDump& dump);

}  // namespace mixstack::session
