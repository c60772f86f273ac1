// Values of the program as people read them: numbers, references, small structs, by their types.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "dotnet/heap/managed_objects.h"
#include "dotnet/names/value_types.h"
#include "mixstack/values.h"

namespace mixstack::dotnet::objects {

/// The parts of values that may be reported.
struct ValueRules {
  bool data = false;          ///< contents of strings and characters
  bool objects_stand = true;  ///< no object can have moved since references to it were read
};

/// Reads values. Texts are bounded and printable; a reference is believed if it leads to an object of its declared
/// type. Borrows everything; not thread-safe.
class Values {
 public:
  static constexpr std::size_t kMostText = 80;    ///< UTF-16 units of a string
  static constexpr std::size_t kMostFields = 8;   ///< of a struct that is shown
  static constexpr std::size_t kMostBytes = 128;  ///< of such a struct

  Values(ManagedObjects& objects, names::MethodNames& names, ValueRules rules)
      : objects_(objects), names_(names), rules_(rules) {}

  /// Bytes of a value of this type (not of what a by-reference refers to); 0: not known.
  [[nodiscard]] std::size_t size_of(const names::ValueType& type);
  /// Fills in a value of this type from its bytes, `size_of` of them. `out.type` is the declared type, or an object's
  /// own once that is known.
  void tell(const names::ValueType& type, std::span<const std::byte> bytes, ProgramValue& out);
  /// The same for a reference; `declared`: type that the object must be of, or derive from; 0: any.
  void tell_reference(Address object, Address declared, ProgramValue& out);
  /// A field of the type of `method_table`, whose fields begin at `base`.
  [[nodiscard]] ProgramValue field(Address base, Address method_table, const LoadedTypes::NamedField& field);

 private:
  [[nodiscard]] Address method_table_of(const names::ValueType& type);
  [[nodiscard]] bool is_structure(const names::ValueType& type);
  [[nodiscard]] bool derives_from(Address type, Address declared);
  void tell_structure(Address method_table, std::span<const std::byte> bytes, ProgramValue& out);
  [[nodiscard]] std::string field_text(const LoadedTypes::NamedField& field, std::span<const std::byte> bytes);

  ManagedObjects& objects_;
  names::MethodNames& names_;
  ValueRules rules_;
};

/// A number or `true` of a primitive type from its bytes; empty: it is none, or they are too few. A character's number.
[[nodiscard]] std::string primitive_text(names::ElementType element, std::span<const std::byte> bytes);
/// Bytes of a primitive type; 0: it is none.
[[nodiscard]] std::size_t primitive_size(names::ElementType element);

}  // namespace mixstack::dotnet::objects
