// The metadata of one .NET module (ECMA-335 partition II.22 to II.24): heaps, tables and queries for names.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dotnet/names/metadata_bytes.h"
#include "dotnet/names/metadata_schema.h"
#include "mixstack/result.h"

namespace mixstack::dotnet::names {

/// A module version id.
using Mvid = std::array<std::byte, 16>;
/// The key that ties a portable PDB to the CodeView entry of its assembly: a GUID and four bytes of a stamp.
using PdbId = std::array<std::byte, 20>;

struct TypeDefRow {
  std::uint32_t flags = 0;
  std::string_view name, name_space;
  Token extends;
  std::uint32_t field_list = 0, method_list = 0;
};
struct TypeRefRow {
  Token resolution_scope;
  std::string_view name, name_space;
};
struct MethodDefRow {
  std::uint32_t rva = 0;
  std::uint16_t impl_flags = 0, flags = 0;
  std::string_view name;
  std::span<const std::byte> signature;
  std::uint32_t param_list = 0;
};
struct ParamRow {
  std::uint16_t flags = 0, sequence = 0;
  std::string_view name;
};
struct MemberRefRow {
  Token parent;
  std::string_view name;
  std::span<const std::byte> signature;
};
struct GenericParamRow {
  std::uint16_t number = 0, flags = 0;
  Token owner;
  std::string_view name;
};
struct CustomAttributeRow {
  Token parent, constructor;
  std::span<const std::byte> value;
};
/// Rows first .. last of a table, `last` not included; 1-based.
struct RowRange {
  std::uint32_t first = 0, last = 0;
  [[nodiscard]] std::uint32_t size() const { return last > first ? last - first : 0; }
  [[nodiscard]] bool contains(std::uint32_t rid) const { return rid >= first && rid < last; }
};

/// Reads tables in place. A row that does not exist, a heap offset outside its heap and bytes that cannot be read all
/// answer zero or empty: metadata of a target is hostile, and a nil token is the format's own "nothing". Views point
/// into the bytes and live as long as this object. Not thread-safe.
class Metadata {
 public:
  static constexpr std::uint64_t kMaxName = 16 << 10;  ///< longer strings of the #Strings heap are cut here
  static constexpr std::uint64_t kMaxBlob = 1 << 20;   ///< longer blobs answer empty

  /// Checks the root, the stream headers and that every table lies inside its stream.
  /// Errors: `mismatch` (no BSJB), `truncated`, `malformed`, `unsupported` (unknown table), `unreadable_memory`.
  [[nodiscard]] static Result<std::shared_ptr<const Metadata>> open(std::shared_ptr<MetadataBytes> bytes);

  // Heaps.
  [[nodiscard]] std::string_view string(std::uint32_t offset) const;
  [[nodiscard]] std::span<const std::byte> blob(std::uint32_t offset) const;
  [[nodiscard]] std::optional<Mvid> guid(std::uint32_t index) const;  ///< 1-based
  /// UTF-16 code units of a user string, without its flag byte.
  [[nodiscard]] std::span<const std::byte> user_string(std::uint32_t offset) const;
  [[nodiscard]] std::string_view version() const { return version_; }
  [[nodiscard]] const std::optional<PdbId>& pdb_id() const { return pdb_id_; }  ///< of the #Pdb stream
  [[nodiscard]] bool is_uncompressed() const { return uncompressed_; }          ///< #- instead of #~

  // Tables.
  [[nodiscard]] std::uint32_t row_count(TableId table) const { return table_of(table).rows; }
  /// Raw value of a cell; 0 when there is none.
  [[nodiscard]] std::uint32_t cell(TableId table, std::uint32_t rid, unsigned column) const;
  /// A cell that holds a table index or a coded index, as a token.
  [[nodiscard]] Token token_cell(TableId table, std::uint32_t rid, unsigned column) const;
  [[nodiscard]] std::string_view string_cell(TableId t, std::uint32_t rid, unsigned c) const {
    return string(cell(t, rid, c));
  }
  [[nodiscard]] std::span<const std::byte> blob_cell(TableId t, std::uint32_t rid, unsigned c) const {
    return blob(cell(t, rid, c));
  }

  [[nodiscard]] std::optional<TypeDefRow> type_def(std::uint32_t rid) const;
  [[nodiscard]] std::optional<TypeRefRow> type_ref(std::uint32_t rid) const;
  [[nodiscard]] std::optional<MethodDefRow> method_def(std::uint32_t rid) const;
  [[nodiscard]] std::optional<ParamRow> param(std::uint32_t rid) const;
  [[nodiscard]] std::optional<MemberRefRow> member_ref(std::uint32_t rid) const;
  [[nodiscard]] std::optional<GenericParamRow> generic_param(std::uint32_t rid) const;
  [[nodiscard]] std::optional<CustomAttributeRow> custom_attribute(std::uint32_t rid) const;

  // Questions.
  [[nodiscard]] std::optional<Mvid> mvid() const { return guid(cell(TableId::module_, 1, 2)); }
  [[nodiscard]] std::string_view module_name() const { return string_cell(TableId::module_, 1, 1); }
  [[nodiscard]] std::string_view assembly_name() const { return string_cell(TableId::assembly, 1, 7); }
  /// TypeDef row that owns a MethodDef row; 0: none. O(log n).
  [[nodiscard]] std::uint32_t type_of_method(std::uint32_t method_rid) const;
  /// Positions in the method list of a type. With a MethodPtr table they are positions there; see `method_at`.
  [[nodiscard]] RowRange methods_of(std::uint32_t type_rid) const;
  [[nodiscard]] std::uint32_t method_at(std::uint32_t position) const;
  [[nodiscard]] RowRange params_of(std::uint32_t method_rid) const;
  [[nodiscard]] std::uint32_t param_at(std::uint32_t position) const;
  /// TypeDef row a nested type is declared in; 0: not nested. O(log n) when the table says it is sorted.
  [[nodiscard]] std::uint32_t enclosing_type(std::uint32_t type_rid) const;
  [[nodiscard]] RowRange generic_params_of(Token owner) const;
  [[nodiscard]] RowRange interfaces_of(std::uint32_t type_rid) const;
  [[nodiscard]] RowRange custom_attributes_of(Token parent) const;
  /// In a PDB: scopes of a method, and the variables that one of them declares.
  [[nodiscard]] RowRange local_scopes_of(std::uint32_t method_rid) const;
  [[nodiscard]] RowRange local_variables_of(std::uint32_t scope_rid) const;
  /// Name and namespace of a type token (TypeDef or TypeRef; anything else: empty).
  [[nodiscard]] TypeRefRow type_name(Token token) const;

  /// Bytes that were fetched from the target for it.
  [[nodiscard]] std::uint64_t loaded_bytes() const { return bytes_->loaded(); }
  [[nodiscard]] bool has_holes() const { return bytes_->has_holes(); }

 private:
  struct Heap {
    std::uint64_t offset = 0, size = 0;
  };
  struct Table {
    std::uint64_t offset = 0;
    std::uint32_t rows = 0;
    std::uint8_t row_size = 0;
    bool sorted = false;
    std::array<std::uint8_t, kMaxColumns> at{}, width{};
  };
  struct Streams;

  explicit Metadata(std::shared_ptr<MetadataBytes> bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] Result<Streams> read_root();
  [[nodiscard]] Result<void> read_tables(const Streams& streams);
  [[nodiscard]] Result<std::uint64_t> read_row_counts(Heap stream, std::uint64_t present, std::uint8_t heap_flags);
  [[nodiscard]] Result<void> place_tables(Heap stream, std::uint64_t offset, std::uint64_t sorted,
                                          const TableSizes& sizes);
  [[nodiscard]] std::span<const std::byte> counted_bytes(const Heap& heap, std::uint32_t offset) const;
  [[nodiscard]] const Table& table_of(TableId table) const {
    return tables_[static_cast<std::uint8_t>(table) % kTableCount];
  }
  /// Rows whose `column` equals `value`: by bisection, or by a bounded scan when the table is not sorted.
  [[nodiscard]] RowRange equal_rows(TableId table, unsigned column, std::uint32_t value) const;
  [[nodiscard]] RowRange list_range(TableId owner, std::uint32_t rid, unsigned column, TableId pointers,
                                    TableId items) const;

  std::shared_ptr<MetadataBytes> bytes_;
  Heap strings_, user_strings_, blobs_, guids_;
  std::string version_;
  bool uncompressed_ = false;
  std::optional<PdbId> pdb_id_;
  std::array<Table, kTableCount> tables_{};
};

}  // namespace mixstack::dotnet::names
