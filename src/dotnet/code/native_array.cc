#include "dotnet/code/native_array.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace mixstack::dotnet {
namespace {

constexpr std::uint32_t kBlock = 16;  // elements

}  // namespace

/// The lowest bits say how long it is: as many ones as bytes follow the first, and from four on a whole word.
std::optional<NativeNumber> decode_native_number(std::span<const std::byte> bytes) {
  constexpr std::size_t kMost = 5;
  std::uint64_t word = 0;
  if (std::endian::native == std::endian::little && bytes.size() >= sizeof word) {  // nearly always
    std::memcpy(&word, bytes.data(), sizeof word);
    word &= (std::uint64_t{1} << 8 * kMost) - 1;
  } else {
    for (std::size_t i = 0; i < std::min(bytes.size(), kMost); i++)
      word |= std::to_integer<std::uint64_t>(bytes[i]) << 8 * i;
  }
  const auto ones = static_cast<unsigned>(std::countr_one(static_cast<std::uint8_t>(word)));
  if (ones > 4 || ones + 1 > bytes.size()) return std::nullopt;
  // Shift left to drop the bits above the number, then shift right to extend the sign.
  const unsigned size = ones + 1, bits = ones == 4 ? 32 : 7 * size, first = ones == 4 ? 8 : size;
  const auto high = static_cast<std::uint32_t>(word >> first) << (32 - bits);
  return NativeNumber{high >> (32 - bits), static_cast<std::int32_t>(high) >> (32 - bits),
                      static_cast<std::uint8_t>(size)};
}

Result<NativeArray::Number> NativeArray::number_at(Address address) const {
  if (!range_.contains(address)) return fail(ErrorCode::malformed, address);
  std::array<std::byte, 5> bytes{};
  const auto room = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), range_.end - address));
  if (const auto read = memory_.read_exact(address, std::span(bytes).first(room)); !read) return fail(read.error());
  const auto number = decode_native_number(std::span(bytes).first(room));
  if (!number) return fail(ErrorCode::malformed, address);
  return Number{number->value, address + number->size};
}

/// Behind the header there is an offset for each block, counted from there.
Result<Address> NativeArray::block_of(std::uint32_t index) const {
  const auto header = number_at(range_.begin);
  if (!header) return fail(header.error());
  const std::uint32_t count = header->value >> 2, width = 1u << std::min(header->value & 3, 2u);
  if (index >= count) return fail(ErrorCode::not_found, index);
  const Address entry = header->next + Address{index / kBlock} * width;
  if (entry + width > range_.end) return fail(ErrorCode::malformed, entry);
  std::array<std::byte, 4> bytes{};
  if (const auto read = memory_.read_exact(entry, std::span(bytes).first(width)); !read) return fail(read.error());
  Address offset = 0;
  for (std::size_t i = 0; i < bytes.size(); i++) offset |= std::to_integer<Address>(bytes[i]) << 8 * i;
  return header->next + offset;
}

/// In a block the element is found by the bits of its index, high ones first: each node says which of its two sides
/// there are, the one for 0 right behind it, the other so many bytes away.
Result<Address> NativeArray::at(std::uint32_t index) const {
  auto at = block_of(index);
  if (!at) return at;
  for (std::uint32_t bit = kBlock / 2; bit > 0; bit /= 2) {
    const auto node = number_at(*at);
    if (!node) return fail(node.error());
    const bool is_right = (index & bit) != 0;
    if (is_right && (node->value & 2) != 0) {
      at = *at + (node->value >> 2);
    } else if (!is_right && (node->value & 1) != 0) {
      at = node->next;
    } else if ((node->value & 3) == 0 && node->value >> 2 == (index & (kBlock - 1))) {
      at = node->next;  // the only element below here
      break;
    } else {
      return fail(ErrorCode::not_found, index);
    }
  }
  if (!range_.contains(*at)) return fail(ErrorCode::malformed, *at);
  return at;
}

}  // namespace mixstack::dotnet
