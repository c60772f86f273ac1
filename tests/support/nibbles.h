// Numbers as the runtime writes them into debug information.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mixstack::test {

/// Three bits a nibble, the high ones first; the fourth says that another follows. Filled up to a whole byte.
inline std::vector<std::byte> nibbles(const std::vector<std::uint32_t>& numbers) {
  std::vector<unsigned> all;
  for (const std::uint32_t n : numbers) {
    unsigned digits = 1;
    while (digits < 11 && n >> 3 * digits != 0) digits++;
    while (digits-- > 0) all.push_back((n >> 3 * digits & 7) | (digits > 0 ? 8 : 0));
  }
  if (all.size() % 2 != 0) all.push_back(0);
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < all.size(); i += 2) bytes.push_back(static_cast<std::byte>(all[i] | all[i + 1] << 4));
  return bytes;
}

}  // namespace mixstack::test
