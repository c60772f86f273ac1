// Opening: the metadata root (ECMA-335 II.24.2.1), stream headers (24.2.2) and the #~ stream (24.2.6).
#include <cstring>

#include "dotnet/names/metadata.h"

namespace mixstack::dotnet::names {

struct Metadata::Streams {
  Heap tables, pdb;
  bool has_tables = false, has_pdb = false, minimal_delta = false;
};

namespace {

constexpr std::uint32_t kRootMagic = 0x424a5342;  // "BSJB"
constexpr std::uint32_t kMaxVersion = 255;        // II.24.2.1: at most 255 bytes
constexpr unsigned kMaxStreams = 64;
constexpr unsigned kMaxStreamName = 32;  // II.24.2.2: limited to 32 characters

/// Sequential reads over lazily loaded bytes.
class Reader {
 public:
  Reader(const MetadataBytes& bytes, std::uint64_t position, std::uint64_t end)
      : bytes_(bytes), position_(position), end_(end) {}
  template <class T>
  T read() {
    T value{};
    const std::byte* p = take(sizeof(T));
    if (p != nullptr) std::memcpy(&value, p, sizeof(T));
    return value;
  }
  const std::byte* take(std::uint64_t n) {
    const std::byte* p = ok_ && position_ <= end_ && n <= end_ - position_ ? bytes_.at(position_, n) : nullptr;
    if (p == nullptr) {
      ok_ = false;
    } else {
      position_ += n;
    }
    return p;
  }
  void fail_now() { ok_ = false; }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::uint64_t position() const { return position_; }

 private:
  const MetadataBytes& bytes_;
  std::uint64_t position_, end_;
  bool ok_ = true;
};

/// A stream name: NUL-terminated, padded to four bytes.
std::string stream_name(Reader& in) {
  std::string name;
  for (unsigned i = 0; i < kMaxStreamName; i += 4) {
    const auto* p = reinterpret_cast<const char*>(in.take(4));
    if (p == nullptr) return {};
    const std::size_t n = strnlen(p, 4);
    name.append(p, n);
    if (n < 4) return name;
  }
  in.fail_now();
  return {};
}

}  // namespace

Result<std::shared_ptr<const Metadata>> Metadata::open(std::shared_ptr<MetadataBytes> bytes) {
  if (bytes == nullptr) return fail(ErrorCode::invalid_argument);
  std::shared_ptr<Metadata> result(new Metadata(std::move(bytes)));
  auto streams = result->read_root();
  if (!streams) return fail(streams.error());
  if (!streams->has_tables) return fail(ErrorCode::malformed);
  auto tables = result->read_tables(*streams);
  if (!tables) return fail(tables.error());
  return result;
}

Result<Metadata::Streams> Metadata::read_root() {
  Reader in(*bytes_, 0, bytes_->size());
  const auto magic = in.read<std::uint32_t>();
  if (!in.ok()) return fail(bytes_->has_holes() ? ErrorCode::unreadable_memory : ErrorCode::truncated);
  if (magic != kRootMagic) return fail(ErrorCode::mismatch, magic);
  in.take(8);  // versions and reserved word carry nothing
  const auto length = in.read<std::uint32_t>();
  if (length > kMaxVersion + 1) return fail(ErrorCode::malformed, length);
  if (const auto* text = reinterpret_cast<const char*>(in.take(length))) version_.assign(text, strnlen(text, length));
  in.take(2);
  const auto count = in.read<std::uint16_t>();
  if (count > kMaxStreams) return fail(ErrorCode::limit_exceeded, count);
  Streams streams;
  for (unsigned i = 0; i < count; i++) {
    const Heap heap{in.read<std::uint32_t>(), in.read<std::uint32_t>()};
    const std::string name = stream_name(in);
    if (!in.ok()) return fail(ErrorCode::truncated, i);
    if (heap.offset > bytes_->size() || heap.size > bytes_->size() - heap.offset)
      return fail(ErrorCode::truncated, heap.offset);
    if (name == "#~" || name == "#-") {
      streams.tables = heap;
      streams.has_tables = true;
      uncompressed_ = name == "#-";
    } else if (name == "#Strings") {
      strings_ = heap;
    } else if (name == "#US") {
      user_strings_ = heap;
    } else if (name == "#Blob") {
      blobs_ = heap;
    } else if (name == "#GUID") {
      guids_ = heap;
    } else if (name == "#Pdb") {
      streams.pdb = heap;
      streams.has_pdb = true;
    } else if (name == "#JTD") {
      streams.minimal_delta = true;
    }
  }
  if (!in.ok()) return fail(ErrorCode::truncated);
  return streams;
}

Result<void> Metadata::read_tables(const Streams& streams) {
  const Heap stream = streams.tables;
  Reader in(*bytes_, stream.offset, stream.offset + stream.size);
  in.take(6);  // reserved word, schema version
  const auto heap_flags = in.read<std::uint8_t>();
  in.take(1);
  const auto present = in.read<std::uint64_t>();
  const auto sorted = in.read<std::uint64_t>();
  if (!in.ok()) return fail(ErrorCode::truncated, stream.offset);
  auto end = read_row_counts({in.position(), stream.offset + stream.size - in.position()}, present, heap_flags);
  if (!end) return fail(end.error());

  TableSizes sizes;
  sizes.wide_strings = (heap_flags & 1) != 0;
  sizes.wide_guids = (heap_flags & 2) != 0;
  sizes.wide_blobs = (heap_flags & 4) != 0;
  sizes.all_wide = streams.minimal_delta;
  for (unsigned t = 0; t < kTableCount; t++) sizes.rows[t] = tables_[t].rows;
  if (streams.has_pdb) {  // Portable PDB v1.0, #Pdb stream: widths of type-system columns come from the PE's row counts
    Reader pdb(*bytes_, streams.pdb.offset, streams.pdb.offset + streams.pdb.size);
    if (const std::byte* id = pdb.take(std::tuple_size_v<PdbId>))
      std::memcpy(pdb_id_.emplace().data(), id, std::tuple_size_v<PdbId>);
    pdb.take(4);  // the entry point
    const auto referenced = pdb.read<std::uint64_t>();
    for (unsigned t = 0; t < kTableCount; t++)
      if ((referenced >> t & 1) != 0) sizes.rows[t] = pdb.read<std::uint32_t>();
    if (!pdb.ok()) return fail(ErrorCode::truncated, streams.pdb.offset);
  }
  return place_tables(stream, *end, sorted, sizes);
}

Result<std::uint64_t> Metadata::read_row_counts(Heap stream, std::uint64_t present, std::uint8_t heap_flags) {
  Reader in(*bytes_, stream.offset, stream.offset + stream.size);
  for (unsigned t = 0; t < kTableCount; t++) {
    if ((present >> t & 1) == 0) continue;
    if (columns_of(t).empty()) return fail(ErrorCode::unsupported, t);
    const auto rows = in.read<std::uint32_t>();
    if (rows > 0xffffff) return fail(ErrorCode::malformed, rows);
    tables_[t].rows = rows;
  }
  if ((heap_flags & 0x40) != 0) in.take(4);  // extra data word of uncompressed metadata
  if (!in.ok()) return fail(ErrorCode::truncated, stream.offset);
  return in.position();
}

Result<void> Metadata::place_tables(Heap stream, std::uint64_t offset, std::uint64_t sorted, const TableSizes& sizes) {
  const std::uint64_t end = stream.offset + stream.size;
  for (unsigned t = 0; t < kTableCount; t++) {
    Table& table = tables_[t];
    if (table.rows == 0) continue;
    unsigned size = 0, c = 0;
    for (const Column column : columns_of(t)) {
      table.at[c] = static_cast<std::uint8_t>(size);
      table.width[c] = static_cast<std::uint8_t>(column_width(column, sizes));
      size += table.width[c++];
    }
    table.row_size = static_cast<std::uint8_t>(size);
    table.offset = offset;
    table.sorted = (sorted >> t & 1) != 0;
    const std::uint64_t bytes = std::uint64_t{table.rows} * size;
    if (offset > end || bytes > end - offset) return fail(ErrorCode::truncated, t);
    offset += bytes;
  }
  return {};
}

}  // namespace mixstack::dotnet::names
