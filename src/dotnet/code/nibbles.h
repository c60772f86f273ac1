// The numbers in which the runtime writes debug information (src/coreclr/inc/nibblestream.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace mixstack::dotnet {

/// Numbers of three bits a nibble, the high ones first; a fourth bit says that another nibble follows. Low nibbles of
/// bytes come first. After the first read beyond the end `ok()` is false and all numbers are 0.
class Nibbles {
 public:
  explicit Nibbles(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint32_t number() {
    std::uint32_t value = 0;
    for (unsigned i = 0; i < 11 && ok_; i++) {
      const std::uint32_t nibble = next();
      value = value << 3 | (nibble & 7);
      if ((nibble & 8) == 0) return ok_ ? value : 0;
    }
    ok_ = false;
    return 0;
  }
  /// With the sign in the lowest bit.
  std::int32_t signed_number() {
    const std::uint32_t n = number();
    const auto magnitude = static_cast<std::int32_t>(n >> 1);
    return (n & 1) == 0 ? magnitude : -magnitude;
  }
  /// `nibbles` of four bits each, the low ones first.
  std::uint64_t plain(unsigned nibbles) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < nibbles; i++) value |= std::uint64_t{next()} << 4 * i;
    return ok_ ? value : 0;
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t whole_bytes() const { return (at_ + 1) / 2; }

 private:
  std::uint32_t next() {
    if (at_ / 2 >= bytes_.size()) {
      ok_ = false;
      return 0;
    }
    const auto byte = std::to_integer<std::uint32_t>(bytes_[at_ / 2]);
    return at_++ % 2 == 0 ? byte & 15 : byte >> 4;
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;  // in nibbles
  bool ok_ = true;
};

}  // namespace mixstack::dotnet
