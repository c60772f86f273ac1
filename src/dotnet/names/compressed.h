// Compressed integers of blobs and signatures, ECMA-335 II.23.2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace mixstack::dotnet::names {

/// A decoded value and how many bytes it took; size 0: malformed or cut.
struct CompressedUnsigned {
  std::uint32_t value = 0;
  std::uint32_t size = 0;
};

[[nodiscard]] inline CompressedUnsigned read_compressed(std::span<const std::byte> in) {
  if (in.empty()) return {};
  const auto byte = [&](std::size_t i) { return std::to_integer<std::uint32_t>(in[i]); };
  const std::uint32_t first = byte(0);
  if ((first & 0x80) == 0) return {first, 1};
  if ((first & 0xc0) == 0x80) {
    if (in.size() < 2) return {};
    return {(first & 0x3f) << 8 | byte(1), 2};
  }
  if ((first & 0xe0) != 0xc0 || in.size() < 4) return {};
  return {(first & 0x1f) << 24 | byte(1) << 16 | byte(2) << 8 | byte(3), 4};
}

/// Signed values are rotated: the sign is the lowest bit (II.23.2, "signed integers").
[[nodiscard]] inline std::int32_t signed_of(CompressedUnsigned c) {
  if (c.size == 0) return 0;
  const unsigned bits = c.size == 1 ? 6 : c.size == 2 ? 13 : 28;
  const auto magnitude = static_cast<std::int32_t>(c.value >> 1);
  return (c.value & 1) == 0 ? magnitude : magnitude - static_cast<std::int32_t>(1u << bits);
}

}  // namespace mixstack::dotnet::names
