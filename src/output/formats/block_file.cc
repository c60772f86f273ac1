#include "output/formats/block_file.h"

#include <zlib.h>
#include <zstd.h>

#include <cstring>

namespace mixstack::formats {
namespace {

using Bytes = std::span<const std::byte>;

std::uint32_t crc_of(std::uint32_t before, Bytes bytes) {
  if (bytes.empty()) return before;  // crc32 returns its initial value for a null pointer
  return static_cast<std::uint32_t>(
      ::crc32(before, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

}  // namespace

void BlockWriter::begin(const unsigned char (&magic)[kMagicSize], std::uint32_t version) {
  char bytes[sizeof version];
  std::memcpy(bytes, &version, sizeof version);
  out_ << std::string_view(reinterpret_cast<const char*>(magic), kMagicSize) << std::string_view(bytes, sizeof bytes);
}

void BlockWriter::put(std::uint16_t type, std::string_view plain) {
  constexpr int kLevel = 3;
  packed_.resize(::ZSTD_compressBound(plain.size()));
  const std::size_t size = ::ZSTD_compress(packed_.data(), packed_.size(), plain.data(), plain.size(), kLevel);
  const bool is_packed = ::ZSTD_isError(size) == 0 && size < plain.size();
  const std::string_view stored = is_packed ? std::string_view(packed_).substr(0, size) : plain;
  BlockHeader header;
  header.type = type;
  header.coding = static_cast<std::uint16_t>(is_packed ? BlockCoding::zstd : BlockCoding::plain);
  header.stored_size = static_cast<std::uint32_t>(stored.size());
  header.plain_size = static_cast<std::uint32_t>(plain.size());
  char bytes[sizeof header];
  std::memcpy(bytes, &header, sizeof header);
  header.crc = crc_of(crc_of(0, bytes_of({bytes, kHeaderWithoutCrc})), bytes_of(stored));
  std::memcpy(bytes, &header, sizeof header);
  out_ << std::string_view(bytes, sizeof bytes) << stored;
}

std::optional<ReadBlock> BlockReader::next() {
  const std::size_t offset = cursor_.position();
  const Bytes head = cursor_.rest();
  const auto header = cursor_.read<BlockHeader>();
  if (!cursor_.ok() || header.stored_size > cursor_.remaining() || header.plain_size > kMostBlock) return std::nullopt;
  const Bytes stored = cursor_.bytes(header.stored_size);
  if (crc_of(crc_of(0, head.first(kHeaderWithoutCrc)), stored) != header.crc) return std::nullopt;
  total_ += header.plain_size + sizeof header;
  if (is_at_limit()) return std::nullopt;
  if (header.coding == static_cast<std::uint16_t>(BlockCoding::plain))
    return stored.size() == header.plain_size ? std::optional(ReadBlock{header.type, offset, stored}) : std::nullopt;
  if (header.coding != static_cast<std::uint16_t>(BlockCoding::zstd)) return std::nullopt;
  room_.resize(header.plain_size);
  const std::size_t size = ::ZSTD_decompress(room_.data(), room_.size(), stored.data(), stored.size());
  if (::ZSTD_isError(size) != 0 || size != room_.size()) return std::nullopt;
  return ReadBlock{header.type, offset, room_};
}

}  // namespace mixstack::formats
