#include "dotnet/names/method_origin.h"

#include <algorithm>

#include "dotnet/names/compressed.h"

namespace mixstack::dotnet::names {
namespace {

constexpr std::uint32_t kMaxMethods = 1 << 16;  // methods of one type looked at
constexpr std::uint32_t kMaxAttributes = 256;
constexpr unsigned kMaxCandidates = 32;  // overloads whose attributes are looked at
constexpr unsigned kMaxClimb = 8;

/// Class names of state machines cannot hold dots: those of an explicit implementation's name become dashes.
bool same_source(std::string_view source, std::string_view method) {
  return std::ranges::equal(source, method, [](char s, char m) { return s == m || (s == '-' && m == '.'); });
}

/// Name of the type that declares an attribute's constructor.
std::string_view attribute_name(const Metadata& metadata, Token constructor) {
  if (constructor.table() == TableId::member_ref) {
    const auto row = metadata.member_ref(constructor.rid());
    return row ? metadata.type_name(row->parent).name : std::string_view{};
  }
  if (constructor.table() != TableId::method_def) return {};
  return metadata.type_name(Token(TableId::type_def, metadata.type_of_method(constructor.rid()))).name;
}

/// Does a value blob (II.23.3: prolog, then a SerString) name a type whose innermost name is `type_name`?
bool names_type(std::span<const std::byte> value, std::string_view type_name) {
  if (value.size() < 3) return false;
  value = value.subspan(2);
  const CompressedUnsigned length = read_compressed(value);
  if (length.size == 0 || length.value > value.size() - length.size) return false;
  std::string_view text(reinterpret_cast<const char*>(value.data() + length.size), length.value);
  if (const auto plus = text.rfind('+'); plus != std::string_view::npos) text.remove_prefix(plus + 1);
  return text.starts_with(type_name) && (text.size() == type_name.size() || text[type_name.size()] == ',');
}

bool points_at(const Metadata& metadata, std::uint32_t method, std::string_view machine_name) {
  const RowRange rows = metadata.custom_attributes_of(Token(TableId::method_def, method));
  for (std::uint32_t r = rows.first; r < std::min(rows.last, rows.first + kMaxAttributes); r++) {
    const auto row = metadata.custom_attribute(r);
    if (row && attribute_name(metadata, row->constructor).ends_with("StateMachineAttribute") &&
        names_type(row->value, machine_name))
      return true;
  }
  return false;
}

/// Calls `use(method rid)` for each method of that name until it answers true.
template <class Use>
void each_named(const Metadata& metadata, std::uint32_t type, std::string_view source, Use use) {
  const RowRange range = metadata.methods_of(type);
  for (std::uint32_t p = range.first; p < std::min(range.last, range.first + kMaxMethods); p++) {
    const std::uint32_t rid = metadata.method_at(p);
    if (same_source(source, metadata.string_cell(TableId::method_def, rid, 3)) && use(rid)) return;
  }
}

}  // namespace

FoundMethod find_only(const Metadata& metadata, std::uint32_t container, std::string_view source) {
  FoundMethod found;
  each_named(metadata, container, source, [&](std::uint32_t rid) {
    const bool second = found.example != 0;
    found.method = second ? 0 : rid;
    found.example = rid;
    return second;
  });
  return found;
}

FoundMethod find_kickoff(const Metadata& metadata, std::uint32_t container, std::string_view source,
                         std::uint32_t machine) {
  const std::string_view machine_name = metadata.string_cell(TableId::type_def, machine, 1);
  FoundMethod found;
  unsigned candidates = 0;
  each_named(metadata, container, source, [&](std::uint32_t rid) {
    if (points_at(metadata, rid, machine_name)) found = {rid, rid};
    return found.method != 0 || ++candidates == kMaxCandidates;
  });
  return found.method != 0 ? found : find_only(metadata, container, source);
}

StateMachineKind state_machine_kind(const Metadata& metadata, std::uint32_t type) {
  bool is_async = false, is_async_stream = false, is_enumerator = false;
  const RowRange rows = metadata.interfaces_of(type);
  for (std::uint32_t r = rows.first; r < std::min(rows.last, rows.first + kMaxAttributes); r++) {
    const std::string_view name = metadata.type_name(metadata.token_cell(TableId::interface_impl, r, 1)).name;
    is_async |= name == "IAsyncStateMachine";
    is_async_stream |= name == "IAsyncDisposable";
    is_enumerator |= name == "IEnumerator";
  }
  if (is_async) return is_async_stream ? StateMachineKind::async_iterator : StateMachineKind::async;
  return is_enumerator ? StateMachineKind::iterator : StateMachineKind::none;
}

bool is_fsharp_sequence(const Metadata& metadata, std::uint32_t type) {
  const Token base = metadata.token_cell(TableId::type_def, type, 3);
  if (base.table() != TableId::type_spec) return metadata.type_name(base).name.starts_with("GeneratedSequenceBase");
  // GENERICINST CLASS TypeDefOrRef: II.23.2.14.
  const auto blob = metadata.blob_cell(TableId::type_spec, base.rid(), 0);
  if (blob.size() < 3) return false;
  const CompressedUnsigned coded = read_compressed(blob.subspan(2));
  if (coded.size == 0) return false;
  return metadata.type_name(decode_coded(CodedIndex::type_def_or_ref, coded.value))
      .name.starts_with("GeneratedSequenceBase");
}

namespace {

constexpr std::uint16_t kStatic = 0x0010, kSpecialName = 0x0800;  // MethodAttributes, II.23.1.10

/// How many parameters a method's signature has (II.23.2.1).
std::optional<std::uint32_t> parameter_count(std::span<const std::byte> signature) {
  constexpr unsigned kGeneric = 0x10;
  if (signature.empty()) return std::nullopt;
  const bool is_generic = (std::to_integer<unsigned>(signature.front()) & kGeneric) != 0;
  signature = signature.subspan(1);
  if (is_generic)
    signature = signature.subspan(std::min<std::size_t>(read_compressed(signature).size, signature.size()));
  const CompressedUnsigned count = read_compressed(signature);
  return count.size == 0 ? std::nullopt : std::optional(count.value);
}

/// Calls `use(row of a type nested in `type`)` until it answers true.
template <class Use>
void each_nested(const Metadata& metadata, std::uint32_t type, Use use) {
  constexpr std::uint32_t kMaxNested = 1 << 16;
  const std::uint32_t rows = std::min(metadata.row_count(TableId::nested_class), kMaxNested);
  for (std::uint32_t r = 1; r <= rows; r++)
    if (metadata.cell(TableId::nested_class, r, 1) == type && use(metadata.cell(TableId::nested_class, r, 0))) return;
}

/// The class in `block` that the ExtensionMarkerAttribute of its member `method` names.
std::span<const std::byte> marker_of(const Metadata& metadata, std::uint32_t block, std::uint32_t method) {
  std::span<const std::byte> signature;
  each_nested(metadata, block, [&](std::uint32_t marker) {
    const std::string_view name = metadata.string_cell(TableId::type_def, marker, 1);
    const RowRange attributes = metadata.custom_attributes_of(Token(TableId::method_def, method));
    for (std::uint32_t a = attributes.first; a < std::min(attributes.last, attributes.first + kMaxAttributes); a++) {
      const auto row = metadata.custom_attribute(a);
      if (!row || attribute_name(metadata, row->constructor) != "ExtensionMarkerAttribute" ||
          !names_type(row->value, name))
        continue;
      const std::uint32_t only = metadata.method_at(metadata.methods_of(marker).first);
      if (const auto found = metadata.method_def(only); found && found->name == "<Extension>$")
        signature = found->signature;
    }
    return !signature.empty();
  });
  return signature;
}

}  // namespace

std::optional<Extension> find_extension(const Metadata& metadata, std::uint32_t type, const MethodDefRow& row) {
  constexpr std::uint32_t kAbstractSealed = 0x180;  // a static class
  const bool may_be = row.name.starts_with("get_") || row.name.starts_with("set_") || row.name.starts_with("op_");
  if (!may_be || (row.flags & kStatic) == 0 || (row.flags & kSpecialName) != 0) return std::nullopt;
  if ((metadata.cell(TableId::type_def, type, 0) & kAbstractSealed) != kAbstractSealed) return std::nullopt;
  const auto count = parameter_count(row.signature);
  std::optional<Extension> found;
  each_nested(metadata, type, [&](std::uint32_t block) {
    if (!metadata.string_cell(TableId::type_def, block, 1).starts_with("<G>$")) return false;
    each_named(metadata, block, row.name, [&](std::uint32_t rid) {
      const auto declared = metadata.method_def(rid);
      const auto own = declared ? parameter_count(declared->signature) : std::nullopt;
      if (!own || !count || (declared->flags & kSpecialName) == 0) return false;
      const bool has_receiver = (declared->flags & kStatic) == 0;
      if (*own + (has_receiver ? 1 : 0) != *count) return false;
      found = Extension{has_receiver, block, marker_of(metadata, block, rid)};
      return true;
    });
    return found.has_value();
  });
  return found;
}

std::uint32_t outside_closures(const Metadata& metadata, std::uint32_t type) {
  for (unsigned i = 0; i < kMaxClimb && type != 0; i++) {
    if (parse_generated(metadata.string_cell(TableId::type_def, type, 1)).kind != GeneratedKind::closure) break;
    type = metadata.enclosing_type(type);
  }
  return type;
}

}  // namespace mixstack::dotnet::names
