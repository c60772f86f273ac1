// GC info as the runtime writes it, for what no method at hand has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace mixstack::test {

inline std::vector<std::byte> gc_info_from_hex(std::string_view text) {
  const auto digit = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(digit(text[i]) << 4 | digit(text[i + 1])));
  return bytes;
}

/// Bits, the lowest of each byte first.
class GcInfoBits {
 public:
  GcInfoBits& put(std::uint64_t value, unsigned count) {
    for (unsigned i = 0; i < count; i++, at_++) {
      if (at_ % 8 == 0) bytes_.push_back(std::byte{0});
      if ((value >> i & 1) != 0) bytes_.back() |= std::byte{1} << static_cast<int>(at_ % 8);
    }
    return *this;
  }
  /// In groups of `base` bits.
  GcInfoBits& number(std::uint64_t value, unsigned base) {
    for (; value >> base != 0; value >>= base) put(value, base).put(1, 1);
    return put(value, base).put(0, 1);
  }
  GcInfoBits& align() { return put(0, static_cast<unsigned>((8 - at_ % 8) % 8)); }
  [[nodiscard]] std::size_t size() const { return at_; }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  std::size_t at_ = 0;
};

}  // namespace mixstack::test
