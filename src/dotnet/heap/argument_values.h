// `this` and the arguments of managed frames, where the code keeps them.
#pragma once

#include <optional>
#include <vector>

#include "dotnet/code/code_manager.h"
#include "dotnet/heap/values.h"
#include "mixstack/frame.h"
#include "mixstack/registers.h"

namespace mixstack::dotnet::objects {

/// One frame of a capture.
struct ArgumentFrame {
  const Frame* frame = nullptr;
  const Registers* registers = nullptr;  ///< while this frame's code runs; null: not known
  /// The part of the thread's stack that was copied in the stop, or all of memory where nothing changes: values are
  /// read only there.
  AddressRange steady;
};

/// Reads arguments by the variable tables of the code. Borrows everything; not thread-safe.
class Arguments {
 public:
  Arguments(ManagedObjects& objects, CodeManager& code, names::MethodNames& names, ValueRules rules)
      : objects_(objects), code_(code), names_(names), values_(objects, names, rules) {}

  /// `this` first, where there is one. Nothing: the method's parameters cannot be told (stubs, dynamic methods).
  [[nodiscard]] std::optional<std::vector<ProgramValue>> of(const ArgumentFrame& at);

 private:
  /// Facts of the frame's code that all its variables share.
  struct Place {
    std::vector<VariableHome> homes;
    std::uint32_t from = 0, to = 0;  ///< a variable must be in the same place at both
  };
  [[nodiscard]] std::optional<Place> place_in(const ArgumentFrame& at);
  [[nodiscard]] std::optional<std::uint64_t> register_in(const ArgumentFrame& at, unsigned reg) const;
  [[nodiscard]] bool read(const ArgumentFrame& at, const VariablePlace& place, std::span<std::byte> out) const;
  [[nodiscard]] bool read_memory(const ArgumentFrame& at, Address address, std::span<std::byte> out) const;
  [[nodiscard]] names::ValueType type_of_this(Address method_table);
  [[nodiscard]] ProgramValue value(const ArgumentFrame& at, const std::optional<Place>& code, std::int32_t number,
                                   const names::ValueType& type);
  void tell_referred(const ArgumentFrame& at, const names::ValueType& type, Address to, ProgramValue& out);

  ManagedObjects& objects_;
  CodeManager& code_;
  names::MethodNames& names_;
  Values values_;
};

}  // namespace mixstack::dotnet::objects
