// EcmaMetadata contract, version c1 (docs/design/datacontracts/EcmaMetadata.md): metadata that can be written lies in
// pieces, and each edit adds pieces to some tables and heaps. They are put together as a file would have them (ECMA-335
// II.24.2), with the marker "#JTD" where all indices have four bytes. The contract's flag for that is only of metadata
// that came so; where an edit widened the tables, the number of bytes of each says it.
#include "dotnet/names/edited_metadata.h"

#include <array>
#include <cstring>
#include <string_view>

#include "dotnet/names/metadata_schema.h"

namespace mixstack::dotnet::names {
namespace {

constexpr std::uint32_t kMaxRows = 0xffffff;
constexpr unsigned kRuntimeTables = 64;  // at most so many have a bit in `Sorted`

class Writer {
 public:
  template <class T>
  void put(T value) {
    const auto* p = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), p, p + sizeof value);
  }
  void name(std::string_view text) {
    for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
    bytes.push_back(std::byte{0});
    align();
  }
  void append(const std::vector<std::byte>& other) {
    bytes.insert(bytes.end(), other.begin(), other.end());
    align();
  }
  void align() {
    while (bytes.size() % 4 != 0) bytes.push_back(std::byte{0});
  }
  std::vector<std::byte> bytes;
};

struct Stream {
  std::string_view name;
  std::vector<std::byte> bytes;
};

std::vector<std::byte> root_of(const std::vector<Stream>& streams) {
  constexpr std::uint32_t kMagic = 0x424a5342;  // "BSJB"
  Writer out;
  out.put(kMagic);
  out.put<std::uint32_t>(0x00010001);  // version 1.1
  out.put<std::uint32_t>(0);
  out.put<std::uint32_t>(4);  // the version's text, which nobody asks for
  out.put<std::uint32_t>(0);
  out.put<std::uint16_t>(0);
  out.put(static_cast<std::uint16_t>(streams.size()));
  std::size_t position = out.bytes.size();
  for (const Stream& s : streams) position += 8 + (s.name.size() / 4 + 1) * 4;
  for (const Stream& s : streams) {
    out.put(static_cast<std::uint32_t>(position));
    out.put(static_cast<std::uint32_t>(s.bytes.size()));
    out.name(s.name);
    position += (s.bytes.size() + 3) / 4 * 4;
  }
  for (const Stream& s : streams) out.append(s.bytes);
  return std::move(out.bytes);
}

struct Table {
  unsigned number = 0;
  std::vector<std::byte> bytes;
};

/// Whether each table is as long as its rows. That is proof, too, that nothing was added meanwhile.
bool fit(const std::vector<Table>& tables, const TableSizes& sizes) {
  for (const Table& table : tables) {
    std::uint64_t row = 0;
    for (const Column column : columns_of(table.number)) row += column_width(column, sizes);
    if (table.bytes.size() != row * sizes.rows[table.number]) return false;
  }
  return true;
}

class PieceReader {
 public:
  PieceReader(const RuntimeMemory& memory, const MemoryReader& bulk, std::uint64_t budget)
      : memory_(memory), l_(memory.layouts().edited_metadata), bulk_(bulk), left_(budget) {}
  Result<std::vector<std::byte>> file(Address mini_md);

 private:
  [[nodiscard]] Result<std::vector<std::byte>> pool(Address at);
  [[nodiscard]] Result<void> piece(std::vector<std::byte>& out, Address data, std::uint32_t used);
  [[nodiscard]] Result<TableSizes> sizes(Address schema, unsigned count) const;
  [[nodiscard]] Result<std::vector<Table>> tables(Address mini_md, const TableSizes& sizes);
  [[nodiscard]] Result<std::vector<std::byte>> table_stream(Address schema, const TableSizes& sizes,
                                                            const std::vector<Table>& tables) const;

  const RuntimeMemory& memory_;
  const EditedMetadataLayout& l_;
  const MemoryReader& bulk_;
  std::uint64_t left_;
};

Result<void> PieceReader::piece(std::vector<std::byte>& out, Address data, std::uint32_t used) {
  if (used == 0) return {};
  if (used > left_) return fail(ErrorCode::limit_exceeded, used);
  left_ -= used;
  const std::size_t before = out.size();
  out.resize(before + used);
  return bulk_.read_exact(data, std::span(out).subspan(before));
}

Result<std::vector<std::byte>> PieceReader::pool(Address at) {
  std::vector<std::byte> out;
  auto data = memory_.pointer(at, l_.pool_data);
  auto next = memory_.pointer(at, l_.pool_next);
  auto used = memory_.value<std::uint32_t>(at, l_.pool_used);
  for (unsigned n = 0; n < EditedMetadata::kMaxPieces; n++) {
    if (!data) return fail(data.error());
    if (!next) return fail(next.error());
    if (!used) return fail(used.error());
    if (auto r = piece(out, *data, *used); !r) return fail(r.error());
    if (*next == 0) return out;
    at = *next;
    data = memory_.pointer(at, l_.segment_data);
    next = memory_.pointer(at, l_.segment_next);
    used = memory_.value<std::uint32_t>(at, l_.segment_used);
  }
  return fail(ErrorCode::limit_exceeded, at);
}

Result<TableSizes> PieceReader::sizes(Address schema, unsigned count) const {
  TableSizes sizes;
  const auto heaps = memory_.value<std::uint8_t>(schema, l_.heaps);
  if (!heaps) return fail(heaps.error());
  sizes.wide_strings = (*heaps & 1) != 0;
  sizes.wide_guids = (*heaps & 2) != 0;
  sizes.wide_blobs = (*heaps & 4) != 0;
  for (unsigned t = 0; t < count; t++) {
    const auto rows = memory_.value<std::uint32_t>(schema + std::uint64_t{t} * 4, l_.record_counts);
    if (!rows) return fail(rows.error());
    if (*rows > kMaxRows || (*rows != 0 && columns_of(t).empty())) return fail(ErrorCode::malformed, t);
    sizes.rows[t] = *rows;
  }
  return sizes;
}

Result<std::vector<Table>> PieceReader::tables(Address mini_md, const TableSizes& sizes) {
  if (!l_.tables || l_.table_size == 0) return fail(ErrorCode::field_unavailable, mini_md);
  std::vector<Table> tables;
  for (unsigned t = 0; t < kTableCount; t++) {
    if (sizes.rows[t] == 0) continue;
    auto bytes = pool(mini_md + l_.tables.offset + std::uint64_t{t} * l_.table_size);
    if (!bytes) return fail(bytes.error());
    tables.push_back({t, std::move(*bytes)});
  }
  return tables;
}

Result<std::vector<std::byte>> PieceReader::table_stream(Address schema, const TableSizes& sizes,
                                                         const std::vector<Table>& tables) const {
  const auto sorted = memory_.value<std::uint64_t>(schema, l_.sorted);
  if (!sorted) return fail(sorted.error());
  Writer out;
  out.put<std::uint32_t>(0);
  out.put<std::uint16_t>(2);  // version 2.0
  out.put(static_cast<std::uint8_t>((sizes.wide_strings ? 1 : 0) | (sizes.wide_guids ? 2 : 0) |
                                    (sizes.wide_blobs ? 4 : 0)));
  out.put<std::uint8_t>(1);
  std::uint64_t present = 0;
  for (const Table& table : tables) present |= std::uint64_t{1} << table.number;
  out.put(present);
  out.put(*sorted);
  for (const Table& table : tables) out.put(sizes.rows[table.number]);
  for (const Table& table : tables) out.bytes.insert(out.bytes.end(), table.bytes.begin(), table.bytes.end());
  return std::move(out.bytes);
}

Result<std::vector<std::byte>> PieceReader::file(Address mini_md) {
  const auto count = memory_.value<std::uint32_t>(mini_md, l_.table_count);
  if (!count) return fail(count.error());
  if (*count == 0 || *count > kRuntimeTables) return fail(ErrorCode::malformed, *count);
  if (!l_.schema || !l_.string_heap || !l_.blob_heap || !l_.guid_heap)
    return fail(ErrorCode::field_unavailable, mini_md);
  const Address schema = mini_md + l_.schema.offset;
  auto table_sizes = sizes(schema, *count);
  if (!table_sizes) return fail(table_sizes.error());
  const auto rows = tables(mini_md, *table_sizes);
  if (!rows) return fail(rows.error());
  if (!fit(*rows, *table_sizes)) {
    table_sizes->all_wide = true;
    if (!fit(*rows, *table_sizes)) return fail(ErrorCode::malformed, mini_md);
  }
  auto stream = table_stream(schema, *table_sizes, *rows);
  if (!stream) return fail(stream.error());
  std::vector<Stream> streams;
  streams.push_back({"#-", std::move(*stream)});
  const std::pair<std::string_view, Field> heaps[] = {
      {"#Strings", l_.string_heap}, {"#Blob", l_.blob_heap}, {"#GUID", l_.guid_heap}};
  for (const auto& [name, heap] : heaps) {
    auto bytes = pool(mini_md + heap.offset);
    if (!bytes) return fail(bytes.error());
    streams.push_back({name, std::move(*bytes)});
  }
  if (table_sizes->all_wide) streams.push_back({"#JTD", {}});
  return root_of(streams);
}

}  // namespace

Result<std::vector<std::byte>> EditedMetadata::read(const RuntimeMemory& memory, const MemoryReader& bulk,
                                                    Address pe_assembly, std::uint64_t budget) {
  const PEAssemblyLayout& pe = memory.layouts().pe_assembly;
  const EditedMetadataLayout& l = memory.layouts().edited_metadata;
  const auto can_be_written = memory.value<std::uint32_t>(pe_assembly, pe.md_import_is_rw);
  if (!can_be_written) return fail(can_be_written.error());
  if (*can_be_written == 0) return fail(ErrorCode::not_found, pe_assembly);
  const auto import = memory.pointer(pe_assembly, pe.md_import);
  if (!import) return fail(import.error());
  const auto stgdb = memory.pointer(*import, l.stgdb);
  if (!stgdb) return fail(stgdb.error());
  if (!l.mini_md) return fail(ErrorCode::field_unavailable, pe_assembly);
  return PieceReader(memory, bulk, budget).file(*stgdb + l.mini_md.offset);
}

}  // namespace mixstack::dotnet::names
