// Shape of the metadata tables: the columns of each, and their widths in a given module.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace mixstack::dotnet::names {

/// Table numbers, ECMA-335 6th edition partition II.22; 0x30 and up: Portable PDB v1.0 format specification.
enum class TableId : std::uint8_t {
  module_ = 0x00,
  type_ref = 0x01,
  type_def = 0x02,
  field_ptr = 0x03,
  field = 0x04,
  method_ptr = 0x05,
  method_def = 0x06,
  param_ptr = 0x07,
  param = 0x08,
  interface_impl = 0x09,
  member_ref = 0x0a,
  constant = 0x0b,
  custom_attribute = 0x0c,
  field_marshal = 0x0d,
  decl_security = 0x0e,
  class_layout = 0x0f,
  field_layout = 0x10,
  stand_alone_sig = 0x11,
  event_map = 0x12,
  event_ptr = 0x13,
  event = 0x14,
  property_map = 0x15,
  property_ptr = 0x16,
  property = 0x17,
  method_semantics = 0x18,
  method_impl = 0x19,
  module_ref = 0x1a,
  type_spec = 0x1b,
  impl_map = 0x1c,
  field_rva = 0x1d,
  enc_log = 0x1e,
  enc_map = 0x1f,
  assembly = 0x20,
  assembly_processor = 0x21,
  assembly_os = 0x22,
  assembly_ref = 0x23,
  assembly_ref_processor = 0x24,
  assembly_ref_os = 0x25,
  file = 0x26,
  exported_type = 0x27,
  manifest_resource = 0x28,
  nested_class = 0x29,
  generic_param = 0x2a,
  method_spec = 0x2b,
  generic_param_constraint = 0x2c,
  document = 0x30,
  method_debug_information = 0x31,
  local_scope = 0x32,
  local_variable = 0x33,
  local_constant = 0x34,
  import_scope = 0x35,
  state_machine_method = 0x36,
  custom_debug_information = 0x37
};
inline constexpr unsigned kTableCount = 64;
inline constexpr unsigned kMaxColumns = 9;

/// Coded indices, ECMA-335 II.24.2.6.
enum class CodedIndex : std::uint8_t {
  type_def_or_ref,
  has_constant,
  has_custom_attribute,
  has_field_marshal,
  has_decl_security,
  member_ref_parent,
  has_semantics,
  method_def_or_ref,
  member_forwarded,
  implementation,
  custom_attribute_type,
  resolution_scope,
  type_or_method_def,
  has_custom_debug_information,
  count
};

/// A metadata token: table in the top byte, row (1-based, 0: nil) below.
struct Token {
  std::uint32_t value = 0;
  constexpr Token() = default;
  constexpr explicit Token(std::uint32_t v) : value(v) {}
  constexpr Token(TableId table, std::uint32_t rid)
      : value(std::uint32_t{static_cast<std::uint8_t>(table)} << 24 | (rid & 0xffffff)) {}
  [[nodiscard]] constexpr TableId table() const { return static_cast<TableId>(value >> 24); }
  [[nodiscard]] constexpr std::uint32_t rid() const { return value & 0xffffff; }
  [[nodiscard]] constexpr bool is_nil() const { return rid() == 0; }
  friend constexpr bool operator==(const Token&, const Token&) = default;
};

/// One column: a fixed width, a heap, a table or a coded index.
struct Column {
  enum class Kind : std::uint8_t { none, u16, u32, string, guid, blob, table, coded };
  Kind kind = Kind::none;
  std::uint8_t argument = 0;  ///< TableId or CodedIndex
};

/// Columns of a table; empty when the number stands for no known table.
[[nodiscard]] std::span<const Column> columns_of(unsigned table);

/// Token of a coded index value; nil when its tag stands for no table.
[[nodiscard]] Token decode_coded(CodedIndex kind, std::uint32_t value);
/// The opposite; nothing when the token's table is not among those of `kind`.
[[nodiscard]] std::optional<std::uint32_t> encode_coded(CodedIndex kind, Token token);

/// The sizes that decide the column widths of one module.
struct TableSizes {
  std::array<std::uint32_t, kTableCount> rows{};  ///< counts that decide widths (other module's for a standalone PDB)
  bool wide_strings = false, wide_guids = false, wide_blobs = false;
  bool all_wide = false;  ///< minimal delta (#JTD): every index has four bytes
};

/// Width of a column in bytes: 2 or 4.
[[nodiscard]] unsigned column_width(Column column, const TableSizes& sizes);

}  // namespace mixstack::dotnet::names
