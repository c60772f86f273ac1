// The exceptions a thread is handling.
#pragma once

#include <vector>

#include "dotnet/code/threads.h"

namespace mixstack::dotnet {

/// One exception in flight.
struct CurrentException {
  Address info = 0;          ///< ExInfo, on the thread's stack
  Address object = 0;        ///< the managed exception, 0 when none is recorded yet
  Address method_table = 0;  ///< of the object: its type
};

struct ExceptionChain {
  std::vector<CurrentException> exceptions;  ///< newest first; the others are nested outside it
  Error error;
};

inline constexpr std::size_t kMaxExceptions = 256;

/// Follows ExceptionTracker and its nesting. Contract Exception; the list ascends on the stack as Frames do.
[[nodiscard]] ExceptionChain current_exceptions(const RuntimeMemory& memory, const ManagedThread& thread);

/// The MethodTable of a managed object without the marks a GC may set. `malformed` for 0.
[[nodiscard]] Result<Address> object_method_table(const RuntimeMemory& memory, Address object);

}  // namespace mixstack::dotnet
