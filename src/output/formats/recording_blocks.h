// The layout that writer and reader of recording files share: docs/formats/recording.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mixstack::formats {

inline constexpr unsigned char kRecordingMagic[8] = {0x89, 'M', 'X', 'R', '\r', '\n', 0x1a, '\n'};
inline constexpr std::uint32_t kRecordingVersion = 1;

enum class BlockType : std::uint16_t {
  facts = 1,
  notes,
  processes,
  threads,
  modules,
  files,
  functions,
  frames,
  nodes,
  contexts,
  samples,
  end,
};

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

}  // namespace mixstack::formats
