// Files of blocks (output/formats/block_file.h) whose sums of checks are made right, so that changed bytes get past
// them.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "output/formats/block_file.h"

namespace mixstack::fuzz {

inline std::vector<std::byte> with_right_sums(const std::uint8_t* data, std::size_t size) {
  std::vector<std::byte> bytes(reinterpret_cast<const std::byte*>(data),
                               reinterpret_cast<const std::byte*>(data) + size);
  for (std::size_t at = formats::kFirstBlock; at + sizeof(formats::BlockHeader) <= size;) {
    formats::BlockHeader header;
    std::memcpy(&header, bytes.data() + at, sizeof header);
    const std::size_t stored = at + sizeof header;
    if (header.stored_size > size - stored) break;
    const auto* block = reinterpret_cast<const Bytef*>(bytes.data() + at);
    uLong crc = ::crc32(0, block, formats::kHeaderWithoutCrc);
    if (header.stored_size != 0) crc = ::crc32(crc, block + sizeof header, header.stored_size);
    header.crc = static_cast<std::uint32_t>(crc);
    std::memcpy(bytes.data() + at, &header, sizeof header);
    at = stored + header.stored_size;
  }
  return bytes;
}

}  // namespace mixstack::fuzz
