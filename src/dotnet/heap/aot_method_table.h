// MethodTables of NativeAOT, which have no EEClass: what they say of sizes, kinds and other types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dotnet/contracts/runtime_memory.h"

namespace mixstack::dotnet::objects {

/// `MethodTable` of src/coreclr/nativeaot/Runtime/inc/MethodTable.h, as .NET 11 has it. Foreign data: it is nothing
/// before it was proved.
struct AotMethodTable {
  enum class Kind : std::uint8_t { canonical, function_pointer, parameterized, generic_definition };
  /// EETypeElementType, as far as it is asked for.
  enum class Element : std::uint8_t {
    none = 0x00,
    void_ = 0x01,
    last_value = 0x12,
    class_ = 0x14,
    interface = 0x15,
    system_array = 0x16,
    array = 0x17,
    sz_array = 0x18,
    by_ref = 0x19,
    pointer = 0x1a
  };
  static constexpr std::uint32_t kDispatchMap = 0x40000, kDynamic = 0x80000, kFinalizer = 0x100000, kSealed = 0x400000,
                                 kPointers = 0x1000000, kGeneric = 0x2000000, kComponents = 0x80000000;
  static constexpr std::uint32_t kArrayBase = 24, kStringBase = 22;

  Address address = 0;
  std::uint32_t flags = 0, base = 0;
  Address related = 0;  ///< its base type; of an array, the type of its elements
  std::uint16_t vtable_slots = 0, interfaces = 0;

  [[nodiscard]] Kind kind() const { return static_cast<Kind>(flags >> 16 & 3); }
  [[nodiscard]] Element element() const { return static_cast<Element>(flags >> 26 & 0x1f); }
  [[nodiscard]] bool has(std::uint32_t flag) const { return (flags & flag) != 0; }
  [[nodiscard]] std::uint32_t component() const { return has(kComponents) ? flags & 0xffff : 0; }
  [[nodiscard]] bool is_array() const { return element() == Element::array || element() == Element::sz_array; }
  [[nodiscard]] bool is_string() const {
    return kind() == Kind::canonical && element() == Element::class_ && has(kComponents) && component() == 2;
  }
  /// An object that holds the statics of a type: its MethodTable has a size and references, and no methods.
  [[nodiscard]] bool is_of_statics() const {
    return kind() == Kind::canonical && element() == Element::none && (flags & ~kPointers) == 0;
  }
  /// The number of dimensions, where it is an array.
  [[nodiscard]] std::uint32_t rank() const { return base > kArrayBase ? (base - kArrayBase) / 8 : 1; }
};

/// As the bytes have it; nothing where they cannot be read, or are not described.
[[nodiscard]] std::optional<AotMethodTable> read_aot_method_table(const RuntimeMemory& memory, Address address);

/// Whether objects may have this type. It proves itself by its types: base types must end at System.Object, which has
/// none, and the elements of an array must be of a type.
[[nodiscard]] bool is_type_of_objects(const RuntimeMemory& memory, const AotMethodTable& table);

/// The generic type and its arguments, of a generic instance. Nothing: it is none, or not as is known.
struct AotInstance {
  Address definition = 0;
  std::vector<Address> arguments;
};
[[nodiscard]] std::optional<AotInstance> aot_instance(const RuntimeMemory& memory, const AotMethodTable& table);

}  // namespace mixstack::dotnet::objects
