// The exceptions a thread is handling, and what exception objects hold.
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

/// Whether a type is `ancestor` or derives from it. False also when that cannot be read.
[[nodiscard]] bool derives_from(const RuntimeMemory& memory, Address method_table, Address ancestor);

/// The fields of a System.Exception object that the Exception contract names.
struct ExceptionObject {
  Address address = 0;
  Address method_table = 0;
  Address message = 0;      ///< String object, 0 when the exception has none of its own
  Address inner = 0;        ///< another exception, 0 when there is none
  Address stack_trace = 0;  ///< for read_throw_stack(), 0 when it was never thrown
  std::uint32_t hresult = 0;
};

/// `mismatch` when the object's type does not derive from System.Exception: the object may have moved or be torn.
[[nodiscard]] Result<ExceptionObject> read_exception(const RuntimeMemory& memory, Address object);

/// One StackTraceElement (src/coreclr/vm/clrex.h).
struct ThrowRecord {
  Address ip = 0;  ///< inside the throwing or calling instruction: the runtime has subtracted where it must
  Address sp = 0;
  Address method_desc = 0;
  bool ends_first_part = false;  ///< STEF_LAST_FRAME_FROM_FOREIGN_STACK_TRACE
};

struct ThrowStack {
  std::vector<ThrowRecord> records;  ///< innermost first
  bool is_cut = false;               ///< there are more than the limit
  Error error;  ///< why there are none although there is a trace: `mismatch` (not the arrays expected), `malformed`
};

inline constexpr std::size_t kMaxThrowRecords = 16384;

/// The stack trace an exception carries. `stack_trace` is ExceptionObject::stack_trace.
[[nodiscard]] ThrowStack read_throw_stack(const RuntimeMemory& memory, Address stack_trace,
                                          std::size_t limit = kMaxThrowRecords);

/// The elements of an array of references, at most `limit`. `mismatch` unless `array` is a vector whose element type is
/// the MethodTable `element_type`.
struct ReferenceArray {
  std::vector<Address> elements;
  bool is_cut = false;
};
[[nodiscard]] Result<ReferenceArray> read_reference_array(const RuntimeMemory& memory, Address array,
                                                          Address element_type, std::size_t limit);

}  // namespace mixstack::dotnet
