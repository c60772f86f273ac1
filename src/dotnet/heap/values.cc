// Turns bytes of managed values into words: numbers, references, nullables, enums, small structs.
// Input: a declared type (from metadata) and the bytes of the value, or an object's address. Output: ProgramValue.
// Algorithm: `tell` finds the size of the type, then decides by its kind: primitives and nullables are formatted,
// by-references and pointers shown as addresses. A struct shows its fields in braces only if each is a number or a
// reference; an enum shows its number. A reference must lead to an object whose type derives from the declared one,
// else the bytes were not what the variable tables said, and the value is unread. If objects may have moved since,
// references are not followed at all. A field's FieldDesc overrides the metadata: it says how the runtime stored it.
// Bounds: kMostBytes of a field's value, kMostFields fields of a struct, kMostText units of a string,
// LoadedTypes::kMaxParents base types. Texts of strings and characters are read only where ValueRules::data allows.
#include "dotnet/heap/values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "dotnet/bcl/types.h"
#include "dotnet/names/managed_string.h"

namespace mixstack::dotnet::objects {
namespace {

using names::ElementType;
using names::ValueKind;
using names::ValueType;

/// The base size of every object includes the word before it and its MethodTable.
constexpr std::uint32_t kObjectOverhead = 16;

template <class T>
std::string number_text(std::span<const std::byte> bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), sizeof(T));
  std::array<char, 48> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end.ptr};
}

std::string address_text(std::uint64_t value) {
  std::array<char, 24> text{'0', 'x'};
  const auto end = std::to_chars(text.data() + 2, text.data() + text.size(), value, 16);
  return {text.data(), end.ptr};
}

std::uint64_t word_of(std::span<const std::byte> bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data(), std::min(bytes.size(), sizeof(word)));
  return word;
}

}  // namespace

std::size_t primitive_size(ElementType element) {
  switch (element) {
    case ElementType::boolean:
    case ElementType::i1:
    case ElementType::u1:
      return 1;
    case ElementType::char_:
    case ElementType::i2:
    case ElementType::u2:
      return 2;
    case ElementType::i4:
    case ElementType::u4:
    case ElementType::r4:
      return 4;
    case ElementType::i8:
    case ElementType::u8:
    case ElementType::r8:
    case ElementType::native_int:
    case ElementType::native_uint:
      return 8;
    default:
      return 0;
  }
}

std::string primitive_text(ElementType element, std::span<const std::byte> bytes) {
  const std::size_t size = primitive_size(element);
  if (size == 0 || bytes.size() < size) return {};
  switch (element) {
    case ElementType::boolean:
      // Any other byte is true as well, as long as nobody compares it.
      return bytes[0] == std::byte{0} ? "false" : "true";
    case ElementType::i1:
      return number_text<std::int8_t>(bytes);
    case ElementType::u1:
      return number_text<std::uint8_t>(bytes);
    case ElementType::i2:
      return number_text<std::int16_t>(bytes);
    case ElementType::char_:
    case ElementType::u2:
      return number_text<std::uint16_t>(bytes);
    case ElementType::i4:
      return number_text<std::int32_t>(bytes);
    case ElementType::u4:
      return number_text<std::uint32_t>(bytes);
    case ElementType::r4:
      return number_text<float>(bytes);
    case ElementType::r8:
      return number_text<double>(bytes);
    case ElementType::u8:
    case ElementType::native_uint:
      return number_text<std::uint64_t>(bytes);
    default:
      return number_text<std::int64_t>(bytes);
  }
}

Address Values::method_table_of(const ValueType& type) {
  if (type.handle != 0) return objects_.types().at(type.handle) != nullptr ? type.handle : 0;
  if (type.name.empty()) return 0;
  for (const std::string& assembly : type.assemblies)
    if (const Address found = objects_.types().find(assembly, type.name); found != 0) return found;
  return 0;
}

bool Values::is_structure(const ValueType& type) {
  if (type.kind != ValueKind::named) return type.kind == ValueKind::structure;
  const TypeFacts* facts = objects_.types().at(method_table_of(type));
  return facts != nullptr && facts->is_value;
}

std::size_t Values::size_of(const ValueType& type) {
  const unsigned pointer = objects_.memory().pointer_size();
  if (type.is_by_ref) return pointer;
  switch (type.kind) {
    case ValueKind::primitive:
      // Nullable<T>: whether there is a value, then the value, each at its own alignment.
      return primitive_size(type.element) * (type.is_nullable ? 2 : 1);
    case ValueKind::reference:
    case ValueKind::pointer:
      return pointer;
    case ValueKind::structure:
    case ValueKind::named:
      break;
    case ValueKind::unknown:
      return 0;
  }
  // A generic type's definition does not say how large an instance is: that needs the instance's own MethodTable.
  const Address table = type.is_generic ? type.handle : method_table_of(type);
  const TypeFacts* facts = objects_.types().at(table);
  if (facts == nullptr) return 0;
  if (!facts->is_value) return pointer;
  return facts->base_size > kObjectOverhead ? facts->base_size - kObjectOverhead : 0;
}

void Values::tell(const ValueType& type, std::span<const std::byte> bytes, ProgramValue& out) {
  out.type = type.text;
  out.state = ValueState::unread;
  const std::size_t size = size_of(type);
  if (size == 0 || bytes.size() < size) return;
  bytes = bytes.first(size);
  if (type.is_by_ref || type.kind == ValueKind::pointer) {
    out.state = ValueState::told;
    const std::uint64_t to = word_of(bytes);
    out.text = to == 0 ? "null" : address_text(to);
    return;
  }
  if (type.is_nullable) {
    out.state = ValueState::told;
    out.text = bytes[0] == std::byte{0} ? "null" : primitive_text(type.element, bytes.subspan(size / 2));
    return;
  }
  if (type.kind == ValueKind::primitive) {
    out.text = primitive_text(type.element, bytes);
    if (!out.text.empty()) out.state = ValueState::told;
    if (rules_.data && type.element == ElementType::char_) {
      const auto unit = static_cast<char16_t>(word_of(bytes));
      out.content = names::printable(names::utf16_to_utf8({&unit, 1}));
    }
    return;
  }
  if (is_structure(type)) {
    tell_structure(method_table_of(type), bytes, out);
    return;
  }
  const Address object = word_of(bytes);
  const Address declared = type.name == bcl::kAnyReference ? 0 : method_table_of(type);
  if (type.is_array && object != 0 && rules_.objects_stand && !objects_.array_length(object)) return;
  tell_reference(object, declared, out);
}

bool Values::derives_from(Address type, Address declared) {
  const TypeFacts* wanted = objects_.types().at(declared);
  if (wanted == nullptr || wanted->is_interface) return true;  // interface maps are not read
  const Address module = wanted->module;
  const std::uint32_t type_def = wanted->type_def;
  for (unsigned depth = 0; type != 0 && depth < LoadedTypes::kMaxParents; depth++) {
    const TypeFacts* facts = objects_.types().at(type);
    if (facts == nullptr) return false;
    if (facts->module == module && facts->type_def == type_def) return true;
    type = facts->parent;
  }
  return false;
}

void Values::tell_reference(Address object, Address declared, ProgramValue& out) {
  if (object == 0) {
    out.state = ValueState::told;
    out.text = "null";
    return;
  }
  if (!rules_.objects_stand) {
    out.state = ValueState::moved;
    return;
  }
  out.state = ValueState::unread;
  const Address type = objects_.type_of(object);
  if (type == 0 || !objects_.header_is_clear(object) || !derives_from(type, declared)) return;
  std::string name = objects_.types().csharp_name(type);
  if (name.empty()) return;
  out.state = ValueState::told;
  out.type = std::move(name);
  out.object = object;
  out.length = objects_.array_length(object);
  const TypeFacts* facts = objects_.types().at(type);
  if (facts == nullptr || facts->name != bcl::kString) return;
  out.type = "string";
  const auto& layout = objects_.memory().layouts().string;
  const auto length = objects_.memory().value<std::uint32_t>(object, layout.length);
  if (length) out.length = *length;
  if (rules_.data) out.content = objects_.text(object, kMostText);
}

/// A field of a struct, as shown in braces; empty: it is not simple enough.
std::string Values::field_text(const LoadedTypes::NamedField& field, std::span<const std::byte> bytes) {
  if (field.place.offset >= bytes.size()) return {};
  const auto rest = bytes.subspan(field.place.offset);
  if (primitive_size(field.place.element) != 0) return primitive_text(field.place.element, rest);
  if (field.place.element != ElementType::class_ || rest.size() < objects_.memory().pointer_size()) return {};
  ProgramValue inner;
  tell_reference(word_of(rest.first(objects_.memory().pointer_size())), 0, inner);
  if (inner.state != ValueState::told) return {};
  if (inner.object == 0) return inner.text;
  return inner.content ? "\"" + *inner.content + "\"" : inner.type + " " + address_text(inner.object);
}

void Values::tell_structure(Address method_table, std::span<const std::byte> bytes, ProgramValue& out) {
  out.state = ValueState::told;  // at least its type is known
  LoadedTypes& types = objects_.types();
  const TypeFacts* facts = types.at(method_table);
  if (facts == nullptr) return;
  if (std::string name = types.csharp_name(method_table); !name.empty()) out.type = std::move(name);
  const bool is_enum = types.is_a(method_table, bcl::kEnum);
  const auto fields = types.own_fields(method_table);
  std::string text;
  std::size_t shown = 0;
  for (const auto& field : fields) {
    if (field.place.is_static) continue;
    std::string value = field_text(field, bytes);
    if (value.empty() || ++shown > kMostFields) return;  // not simple: only its type is shown
    if (is_enum) {
      out.text = std::move(value);
      return;
    }
    text += (text.empty() ? "{" : ", ") + names::printable(field.name) + " = " + value;
  }
  if (!text.empty()) out.text = text + "}";
}

ProgramValue Values::field(Address base, Address method_table, const LoadedTypes::NamedField& field) {
  ProgramValue out;
  out.name = names::printable(field.name);
  out.state = ValueState::unread;
  auto type = names_.field_type(method_table, field.name);
  if (!type) return out;
  // The FieldDesc decides whether the field is a reference: the metadata names types that may not be loaded.
  const bool is_reference = field.place.element == ElementType::class_;
  if (is_reference) type->kind = ValueKind::reference;
  if (!is_reference && type->kind == ValueKind::reference) return out;
  const std::size_t size = size_of(*type);
  if (size == 0 || size > kMostBytes) {
    out.type = type->text;
    if (size != 0 || type->kind == ValueKind::structure) out.state = ValueState::told;  // only its type
    return out;
  }
  std::array<std::byte, kMostBytes> room{};
  const auto bytes = std::span(room).first(size);
  out.type = type->text;
  if (objects_.memory().reader().read_exact(base + field.place.offset, bytes)) tell(*type, bytes, out);
  return out;
}

}  // namespace mixstack::dotnet::objects
