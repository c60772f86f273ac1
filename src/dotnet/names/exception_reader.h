// Exceptions in words: type, message, inner exceptions and the way each was thrown.
#pragma once

#include <unordered_map>

#include "dotnet/code/code_manager.h"
#include "dotnet/code/exceptions.h"
#include "dotnet/names/method_names.h"
#include "mixstack/exception.h"

namespace mixstack::dotnet::names {

/// Reads exception objects. Everything is bounded and checked; a part that cannot be read is left out with an error at
/// its exception. Borrows its parts. Not thread-safe; caches types, so make a new one for each capture.
class ExceptionReader {
 public:
  static constexpr std::size_t kMaxDepth = 16;         ///< inner exceptions of inner exceptions
  static constexpr std::size_t kMaxChain = 64;         ///< exceptions in one chain
  static constexpr std::size_t kMaxAggregated = 16;    ///< shown of an AggregateException's list
  static constexpr std::size_t kMaxMessage = 4096;     ///< UTF-16 units
  static constexpr std::size_t kMaxFrames = 1u << 16;  ///< of one chain

  /// Without `code` (a runtime whose code cannot be found) offsets into methods stay 0.
  ExceptionReader(const RuntimeMemory& memory, CodeManager* code, MethodNames& names)
      : memory_(memory), code_(code), names_(names) {}

  /// The exception at an address and everything inside it. Symbols of frames are left to the caller.
  [[nodiscard]] ExceptionInFlight read(Address object);
  /// Raw name of an object's type; empty when the object is no exception.
  [[nodiscard]] std::string type_of(Address object);

 private:
  struct Chain;
  void visit(Chain& chain, Address object, std::uint32_t inner_of, std::size_t depth);
  void visit_inner(Chain& chain, const ExceptionObject& exception, std::uint32_t index, std::size_t depth);
  void read_message(const ExceptionObject& exception, ManagedException& out);
  void read_frames(Chain& chain, const ExceptionObject& exception, ManagedException& out);
  [[nodiscard]] bool is_aggregate(Address method_table);
  [[nodiscard]] Result<ReferenceArray> aggregated(const ExceptionObject& exception) const;

  RuntimeMemory memory_;
  CodeManager* code_;
  MethodNames& names_;
  std::unordered_map<Address, bool> aggregates_;  ///< by MethodTable
};

}  // namespace mixstack::dotnet::names
