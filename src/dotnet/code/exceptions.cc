#include "dotnet/code/exceptions.h"

#include <algorithm>

namespace mixstack::dotnet {

Result<Address> object_method_table(const RuntimeMemory& memory, Address object) {
  const auto& l = memory.layouts();
  if (object == 0) return fail(ErrorCode::malformed);
  auto table = memory.pointer(object, l.object.method_table);
  if (!table) return table;
  const Address mark =
      l.globals.object_to_method_table_unmask.known ? l.globals.object_to_method_table_unmask.value : 7;
  return *table & ~mark;
}

ExceptionChain current_exceptions(const RuntimeMemory& memory, const ManagedThread& thread) {
  ExceptionChain chain;
  const auto& l = memory.layouts().exception_info;
  Address at = thread.exception_tracker;
  while (at != 0 && at != memory.all_ones()) {
    const bool seen = std::any_of(chain.exceptions.begin(), chain.exceptions.end(),
                                  [&](const CurrentException& e) { return e.info == at; });
    if (seen || chain.exceptions.size() == kMaxExceptions) {
      chain.error = {ErrorCode::limit_exceeded, 0, at};
      break;
    }
    auto thrown = memory.pointer(at, l.thrown_object);
    auto next = memory.pointer(at, l.previous_nested_info);
    if (!thrown || !next) {
      chain.error = thrown ? next.error() : thrown.error();
      break;
    }
    CurrentException e{at, 0, 0};
    const bool is_handle = memory.layouts().algorithms.thrown_object == ThrownObject::handle;
    if (*thrown != 0) e.object = is_handle ? memory.pointer_at(*thrown).value_or(0) : *thrown;
    if (e.object != 0) e.method_table = object_method_table(memory, e.object).value_or(0);
    chain.exceptions.push_back(e);
    at = *next;
  }
  return chain;
}

}  // namespace mixstack::dotnet
