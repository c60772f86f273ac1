#include "dotnet/names/metadata_schema.h"

#include <algorithm>

namespace mixstack::dotnet::names {
namespace {

using K = Column::Kind;
using T = TableId;
using C = CodedIndex;

constexpr Column u16{K::u16, 0}, u32{K::u32, 0}, str{K::string, 0}, guid{K::guid, 0}, blob{K::blob, 0};
constexpr Column to(T table) { return {K::table, static_cast<std::uint8_t>(table)}; }
constexpr Column to(C coded) { return {K::coded, static_cast<std::uint8_t>(coded)}; }

struct TableShape {
  T table;
  std::array<Column, kMaxColumns> columns;
};

// ECMA-335 II.22.2 to II.22.39, in the order of their numbers; Portable PDB v1.0 for 0x30 to 0x37.
constexpr TableShape kShapes[] = {
    {T::module_, {u16, str, guid, guid, guid}},
    {T::type_ref, {to(C::resolution_scope), str, str}},
    {T::type_def, {u32, str, str, to(C::type_def_or_ref), to(T::field), to(T::method_def)}},
    {T::field_ptr, {to(T::field)}},
    {T::field, {u16, str, blob}},
    {T::method_ptr, {to(T::method_def)}},
    {T::method_def, {u32, u16, u16, str, blob, to(T::param)}},
    {T::param_ptr, {to(T::param)}},
    {T::param, {u16, u16, str}},
    {T::interface_impl, {to(T::type_def), to(C::type_def_or_ref)}},
    {T::member_ref, {to(C::member_ref_parent), str, blob}},
    {T::constant, {u16, to(C::has_constant), blob}},
    {T::custom_attribute, {to(C::has_custom_attribute), to(C::custom_attribute_type), blob}},
    {T::field_marshal, {to(C::has_field_marshal), blob}},
    {T::decl_security, {u16, to(C::has_decl_security), blob}},
    {T::class_layout, {u16, u32, to(T::type_def)}},
    {T::field_layout, {u32, to(T::field)}},
    {T::stand_alone_sig, {blob}},
    {T::event_map, {to(T::type_def), to(T::event)}},
    {T::event_ptr, {to(T::event)}},
    {T::event, {u16, str, to(C::type_def_or_ref)}},
    {T::property_map, {to(T::type_def), to(T::property)}},
    {T::property_ptr, {to(T::property)}},
    {T::property, {u16, str, blob}},
    {T::method_semantics, {u16, to(T::method_def), to(C::has_semantics)}},
    {T::method_impl, {to(T::type_def), to(C::method_def_or_ref), to(C::method_def_or_ref)}},
    {T::module_ref, {str}},
    {T::type_spec, {blob}},
    {T::impl_map, {u16, to(C::member_forwarded), str, to(T::module_ref)}},
    {T::field_rva, {u32, to(T::field)}},
    {T::enc_log, {u32, u32}},
    {T::enc_map, {u32}},
    {T::assembly, {u32, u16, u16, u16, u16, u32, blob, str, str}},
    {T::assembly_processor, {u32}},
    {T::assembly_os, {u32, u32, u32}},
    {T::assembly_ref, {u16, u16, u16, u16, u32, blob, str, str, blob}},
    {T::assembly_ref_processor, {u32, to(T::assembly_ref)}},
    {T::assembly_ref_os, {u32, u32, u32, to(T::assembly_ref)}},
    {T::file, {u32, str, blob}},
    {T::exported_type, {u32, u32, str, str, to(C::implementation)}},
    {T::manifest_resource, {u32, u32, str, to(C::implementation)}},
    {T::nested_class, {to(T::type_def), to(T::type_def)}},
    {T::generic_param, {u16, u16, to(C::type_or_method_def), str}},
    {T::method_spec, {to(C::method_def_or_ref), blob}},
    {T::generic_param_constraint, {to(T::generic_param), to(C::type_def_or_ref)}},
    {T::document, {blob, guid, blob, guid}},
    {T::method_debug_information, {to(T::document), blob}},
    {T::local_scope, {to(T::method_def), to(T::import_scope), to(T::local_variable), to(T::local_constant), u32, u32}},
    {T::local_variable, {u16, u16, str}},
    {T::local_constant, {str, blob}},
    {T::import_scope, {to(T::import_scope), blob}},
    {T::state_machine_method, {to(T::method_def), to(T::method_def)}},
    {T::custom_debug_information, {to(C::has_custom_debug_information), guid, blob}},
};

constexpr std::uint8_t kNoTable = 0xff;
struct CodedShape {
  unsigned tag_bits;
  std::array<std::uint8_t, 32> tables;
  unsigned count;
};

template <class... Tables>
constexpr CodedShape coded(unsigned bits, Tables... tables) {
  CodedShape shape{bits, {}, sizeof...(tables)};
  const std::uint8_t list[] = {static_cast<std::uint8_t>(tables)...};
  for (unsigned i = 0; i < shape.count; i++) shape.tables[i] = list[i];  // NOLINT: `count` is the size of `list`
  return shape;
}

constexpr CodedShape kCoded[] = {
    coded(2, T::type_def, T::type_ref, T::type_spec),
    coded(2, T::field, T::param, T::property),
    coded(5, T::method_def, T::field, T::type_ref, T::type_def, T::param, T::interface_impl, T::member_ref, T::module_,
          T::decl_security, T::property, T::event, T::stand_alone_sig, T::module_ref, T::type_spec, T::assembly,
          T::assembly_ref, T::file, T::exported_type, T::manifest_resource, T::generic_param,
          T::generic_param_constraint, T::method_spec),
    coded(1, T::field, T::param),
    coded(2, T::type_def, T::method_def, T::assembly),
    coded(3, T::type_def, T::type_ref, T::module_ref, T::method_def, T::type_spec),
    coded(1, T::event, T::property),
    coded(1, T::method_def, T::member_ref),
    coded(1, T::field, T::method_def),
    coded(2, T::file, T::assembly_ref, T::exported_type),
    coded(3, kNoTable, kNoTable, T::method_def, T::member_ref),
    coded(2, T::module_, T::module_ref, T::assembly_ref, T::type_ref),
    coded(1, T::type_def, T::method_def),
    coded(5, T::method_def, T::field, T::type_ref, T::type_def, T::param, T::interface_impl, T::member_ref, T::module_,
          T::decl_security, T::property, T::event, T::stand_alone_sig, T::module_ref, T::type_spec, T::assembly,
          T::assembly_ref, T::file, T::exported_type, T::manifest_resource, T::generic_param,
          T::generic_param_constraint, T::method_spec, T::document, T::local_scope, T::local_variable,
          T::local_constant, T::import_scope),
};
static_assert(std::size(kCoded) == static_cast<std::size_t>(C::count));

constexpr auto kShapeOfTable = [] {
  std::array<std::int8_t, kTableCount> index{};
  for (auto& i : index) i = -1;
  for (std::size_t s = 0; s < std::size(kShapes); s++)
    index[static_cast<std::uint8_t>(kShapes[s].table)] = static_cast<std::int8_t>(s);
  return index;
}();

}  // namespace

std::span<const Column> columns_of(unsigned table) {
  if (table >= kTableCount || kShapeOfTable[table] < 0) return {};
  const auto& columns = kShapes[kShapeOfTable[table]].columns;
  const auto end = std::find_if(columns.begin(), columns.end(), [](Column c) { return c.kind == K::none; });
  return {columns.begin(), end};
}

Token decode_coded(CodedIndex kind, std::uint32_t value) {
  const CodedShape& shape = kCoded[static_cast<std::size_t>(kind)];
  const std::uint32_t tag = value & ((1u << shape.tag_bits) - 1);
  const std::uint32_t rid = value >> shape.tag_bits;
  if (tag >= shape.count || shape.tables[tag] == kNoTable || rid > 0xffffff) return {};
  return {static_cast<TableId>(shape.tables[tag]), rid};
}

std::optional<std::uint32_t> encode_coded(CodedIndex kind, Token token) {
  const CodedShape& shape = kCoded[static_cast<std::size_t>(kind)];
  for (std::uint32_t tag = 0; tag < shape.count; tag++)
    if (shape.tables[tag] == static_cast<std::uint8_t>(token.table())) return token.rid() << shape.tag_bits | tag;
  return std::nullopt;
}

unsigned column_width(Column column, const TableSizes& sizes) {
  const auto wide = [](bool w) { return w ? 4u : 2u; };
  switch (column.kind) {
    case K::none:
      return 0;
    case K::u16:
      return 2;
    case K::u32:
      return 4;
    case K::string:
      return wide(sizes.wide_strings || sizes.all_wide);
    case K::guid:
      return wide(sizes.wide_guids || sizes.all_wide);
    case K::blob:
      return wide(sizes.wide_blobs || sizes.all_wide);
    case K::table:
      return wide(sizes.all_wide || sizes.rows[column.argument % kTableCount] > 0xffff);
    case K::coded:
      break;
  }
  const CodedShape& shape = kCoded[column.argument % std::size(kCoded)];
  std::uint32_t most = 0;
  for (unsigned i = 0; i < shape.count; i++)
    if (shape.tables[i] != kNoTable) most = std::max(most, sizes.rows[shape.tables[i]]);
  return wide(sizes.all_wide || most >= (1u << (16 - shape.tag_bits)));
}

}  // namespace mixstack::dotnet::names
