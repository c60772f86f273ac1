// Numbers out of a string of bits, the lowest bit of each byte first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace mixstack::dotnet {

/// Reads in sequence; what lies behind the end reads as 0 and makes `ok` false for good. Borrows the bytes.
class BitReader {
 public:
  explicit BitReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  /// At most 32 bits.
  [[nodiscard]] std::uint32_t bits(unsigned count) {
    if (count == 0) return 0;
    if (count > 32 || count > left()) {
      is_ok_ = false;
      return 0;
    }
    // They lie in five bytes at most.
    const auto near = bytes_.subspan(position_ / 8);
    std::uint64_t window = 0;
    std::memcpy(&window, near.data(), near.size() < sizeof(window) ? near.size() : sizeof(window));
    const auto value = static_cast<std::uint32_t>(window >> position_ % 8 & ((std::uint64_t{1} << count) - 1));
    position_ += count;
    return value;
  }
  /// In groups of `base` bits, low ones first, each with a bit behind it that says whether another group follows.
  [[nodiscard]] std::uint32_t number(unsigned base) { return static_cast<std::uint32_t>(groups(base, false)); }
  /// The same; the highest bit of the last group is the sign.
  [[nodiscard]] std::int32_t signed_number(unsigned base) { return static_cast<std::int32_t>(groups(base, true)); }

  [[nodiscard]] std::size_t position() const { return position_; }
  /// Goes on there, counted from the first bit. Behind the end nothing can be read.
  void seek(std::size_t position) { position_ = position; }
  /// The same, `count` bits ahead: fewer than 2^60.
  void skip(std::size_t count) { position_ += count; }
  /// For those who see that what is announced cannot be there.
  void give_up() { is_ok_ = false; }
  /// Bits that can be read.
  [[nodiscard]] std::size_t left() const {
    const std::size_t end = bytes_.size() * 8;
    return position_ < end ? end - position_ : 0;
  }
  /// Nothing was read behind the end, and no number was longer than 32 bits.
  [[nodiscard]] bool ok() const { return is_ok_; }

 private:
  [[nodiscard]] std::int64_t groups(unsigned base, bool is_signed) {
    std::uint64_t value = 0;
    unsigned width = 0;
    for (bool goes_on = true; goes_on && is_ok_; width += base) {
      if (width >= 32) is_ok_ = false;
      const std::uint64_t group = bits(base + 1);
      goes_on = (group >> base & 1) != 0;
      if (is_ok_) value |= (group & ((std::uint64_t{1} << base) - 1)) << width;
    }
    if (!is_ok_) return 0;
    if (is_signed && (value >> (width - 1) & 1) != 0) value |= ~std::uint64_t{0} << width;
    const auto whole = static_cast<std::int64_t>(value);
    const bool fits = is_signed ? whole == static_cast<std::int32_t>(whole) : value <= 0xffffffffu;
    is_ok_ = fits;
    return fits ? whole : 0;
  }

  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
  bool is_ok_ = true;
};

}  // namespace mixstack::dotnet
