// Exceptions in flight in a dump, and why the runtime is ending the process.
#pragma once

#include <span>

#include "dotnet/code/threads.h"
#include "dotnet/names/exception_reader.h"
#include "mixstack/dump.h"

namespace mixstack::dotnet {

/// At most this many exceptions that one thread handles at once are read.
inline constexpr std::size_t kMaxNestedExceptions = 16;

/// The exceptions of a thread, and the two ends that the runtime itself marks: stack overflow, and every other fatal
/// error (`runtime_failure`, which `explain_abort` divides further).
void read_exceptions(const RuntimeMemory& memory, const ManagedThread& thread, names::ExceptionReader& reader,
                     ManagedThreadFacts& facts);

/// From the named stack: FailFast with its message, and the abort after an unhandled exception. `memory` is that of the
/// capture; `runtime` the thread's.
void explain_abort(const RuntimeMemory& memory, const RuntimeSummary& runtime, std::span<const SymbolInfo> symbols,
                   ThreadDump& thread);

}  // namespace mixstack::dotnet
