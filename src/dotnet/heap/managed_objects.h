// Objects of the target's managed heap, and statics, read from outside by the names of their fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dotnet/heap/loaded_types.h"

namespace mixstack::dotnet::objects {

/// A place in memory that holds the fields of a struct: inside an object, a box or statics.
struct StructPlace {
  Address address = 0;
  Address method_table = 0;  ///< of the struct's type
};

/// Reads objects. An address is an object only if its first word is a MethodTable whose EEClass points back; its values
/// are untrusted all the same. A field that the type lacks, or memory that cannot be read, is nothing. Not thread-safe.
/// Borrows the types.
class ManagedObjects {
 public:
  static constexpr std::size_t kMaxElements = 1 << 16;  ///< of one array that is read

  explicit ManagedObjects(LoadedTypes& types) : types_(types) {}

  /// The MethodTable of an object; 0: it is none. Enough for a word of a stack; a word found in the heap needs
  /// `header_is_clear`, too, since tables of the cast cache look like objects.
  [[nodiscard]] Address type_of(Address object);
  [[nodiscard]] bool header_is_clear(Address object) const;
  [[nodiscard]] bool is_a(Address object, std::string_view type) { return types_.is_a(type_of(object), type); }

  // Instance fields of an object of a class (or of a boxed struct), by name.
  [[nodiscard]] std::optional<Address> place(Address object, std::string_view field);
  /// A reference; 0 where it is null, nothing where the field is none of this type's.
  [[nodiscard]] std::optional<Address> reference(Address object, std::string_view field);
  template <class T>
  [[nodiscard]] std::optional<T> value(Address object, std::string_view field) {
    const auto at = place(object, field);
    return at ? read<T>(*at) : std::nullopt;
  }
  /// A struct that lies in the object, of a type that is known by its name.
  [[nodiscard]] std::optional<StructPlace> structure(Address object, std::string_view field, Address method_table);

  // Fields of a struct.
  [[nodiscard]] std::optional<Address> place(const StructPlace& in, std::string_view field);
  [[nodiscard]] std::optional<Address> reference(const StructPlace& in, std::string_view field);
  template <class T>
  [[nodiscard]] std::optional<T> value(const StructPlace& in, std::string_view field) {
    const auto at = place(in, field);
    return at ? read<T>(*at) : std::nullopt;
  }

  // Statics. Nothing: the type has no such static, or its statics are not there yet.
  [[nodiscard]] std::optional<Address> static_place(Address method_table, std::string_view field);
  [[nodiscard]] std::optional<Address> static_reference(Address method_table, std::string_view field);
  /// Thread statics of the thread with this Thread object; dead threads have garbage there and must not be asked.
  [[nodiscard]] std::optional<Address> thread_static_place(Address thread, Address method_table,
                                                           std::string_view field);
  [[nodiscard]] std::optional<Address> thread_static_reference(Address thread, Address method_table,
                                                               std::string_view field);

  /// No thread has any thread static of this type yet.
  [[nodiscard]] bool has_no_thread_statics(Address method_table);

  // Arrays.
  [[nodiscard]] std::optional<std::uint32_t> array_length(Address array);
  /// Address of the first element.
  [[nodiscard]] Address elements_of(Address array) const;
  /// The references of an object[], the first `most`.
  [[nodiscard]] std::vector<Address> references_in(Address array, std::size_t most);
  /// The items of a List<T> of references, the first `most`.
  [[nodiscard]] std::vector<Address> items_of_list(Address list, std::size_t most);

  /// The words of an object's fields, the first `most`; of an array none.
  [[nodiscard]] std::vector<Address> words_in(Address object, std::size_t most);

  /// Printable text of a String, cut after `limit` UTF-16 units.
  [[nodiscard]] std::string text(Address string, std::size_t limit) const;
  /// C# name of an object's type; empty where it is none.
  [[nodiscard]] std::string type_name(Address object) { return types_.csharp_name(type_of(object)); }

  template <class T>
  [[nodiscard]] std::optional<T> read(Address at) const {
    const auto v = memory().reader().read<T>(at);
    return v ? std::optional<T>(*v) : std::nullopt;
  }
  [[nodiscard]] const RuntimeMemory& memory() const { return types_.memory(); }
  [[nodiscard]] LoadedTypes& types() { return types_; }

 private:
  LoadedTypes& types_;
};

}  // namespace mixstack::dotnet::objects
