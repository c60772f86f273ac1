// The frame that our own files share (recordings .mxr, moments .mxm): a magic and a version, then blocks with their
// length and a sum. docs/formats/recording.md describes the bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/byte_cursor.h"
#include "output/report/writer.h"

namespace mixstack::formats {

enum class BlockCoding : std::uint16_t { plain = 0, zstd = 1 };

/// The layout in a file, little-endian.
struct BlockHeader {
  std::uint16_t type = 0;
  std::uint16_t coding = 0;
  std::uint32_t stored_size = 0;
  std::uint32_t plain_size = 0;
  std::uint32_t crc = 0;  ///< of the twelve bytes before it and of the stored bytes (zlib's crc32)
};
static_assert(sizeof(BlockHeader) == 16);

inline constexpr std::size_t kHeaderWithoutCrc = 12;
inline constexpr std::size_t kMagicSize = 8;
inline constexpr std::size_t kFirstBlock = kMagicSize + 4;           ///< behind magic and version
inline constexpr std::size_t kMostBlock = std::size_t{4} << 20;      ///< of plain bytes
inline constexpr std::size_t kMostString = std::size_t{1} << 20;     ///< longer ones are cut when they are written
inline constexpr std::uint64_t kMostPlain = std::uint64_t{1} << 30;  ///< of all blocks together, when they are read

/// Zigzag coding of a difference (as in protobuf): small differences of either sign become small numbers.
[[nodiscard]] constexpr std::uint64_t zigzag(std::uint64_t now, std::uint64_t before) {
  const std::uint64_t difference = now - before;
  return (difference << 1) ^ (0 - (difference >> 63));
}
[[nodiscard]] constexpr std::uint64_t unzigzag(std::uint64_t coded, std::uint64_t before) {
  return before + ((coded >> 1) ^ (0 - (coded & 1)));
}

/// Encodes the numbers and strings of one block.
class BlockFields {
 public:
  BlockFields& number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
    return *this;
  }
  template <class Enum>
  BlockFields& word(Enum value) {
    return number(static_cast<std::uint64_t>(value));
  }
  BlockFields& text(std::string_view text) {
    text = text.substr(0, kMostString);
    number(text.size());
    bytes_.append(text);
    return *this;
  }
  /// 0: none; else one more than the number.
  BlockFields& optional(const std::optional<std::uint64_t>& value) {
    number(value ? 1 : 0);
    return value ? number(*value) : *this;
  }
  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  std::string bytes_;
};

/// Borrows the writer.
class BlockWriter {
 public:
  explicit BlockWriter(report::Writer& out) : out_(out) {}
  /// At the begin of the file.
  void begin(const unsigned char (&magic)[kMagicSize], std::uint32_t version);
  void put(std::uint16_t type, std::string_view plain);
  /// Writes a list in blocks of about a quarter of a megabyte, each preceded by its number of elements.
  template <class Range, class Write>
  void list(std::uint16_t type, const Range& range, Write write) {
    constexpr std::size_t kPiece = 256 << 10;
    BlockFields elements;
    std::size_t count = 0;
    const auto flush = [&] {
      if (count == 0) return;
      BlockFields whole;
      whole.number(count);
      put(type, std::string(whole.bytes()).append(elements.bytes()));
      elements.clear();
      count = 0;
    };
    for (const auto& element : range) {
      write(elements, element);
      count++;
      if (elements.bytes().size() >= kPiece) flush();
    }
    flush();
  }

 private:
  report::Writer& out_;
  std::string packed_;
};

/// A whole block; `plain` is valid until the next call of `next`.
struct ReadBlock {
  std::uint16_t type = 0;
  std::size_t offset = 0;
  std::span<const std::byte> plain;
};

/// Reads block after block while they are whole.
class BlockReader {
 public:
  /// `bytes`: the whole file, magic and version included.
  explicit BlockReader(std::span<const std::byte> bytes) : cursor_(bytes) { cursor_.skip(kFirstBlock); }
  /// Nothing: the file ends here, the next block is cut or damaged, or kMostPlain is exceeded.
  [[nodiscard]] std::optional<ReadBlock> next();
  [[nodiscard]] bool is_at_limit() const { return total_ > kMostPlain; }

 private:
  base::ByteCursor cursor_;
  std::uint64_t total_ = 0;
  std::vector<std::byte> room_;
};

}  // namespace mixstack::formats
