// A bounded reader over foreign bytes: every read is checked, failure is sticky and never reads outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace mixstack::base {

/// Reads little-endian values in sequence. After the first read beyond the end `ok()` is false and every read answers
/// zero; callers check once at the end of a structure. Not thread-safe; allocates nothing (signal-safe).
class ByteCursor {
 public:
  ByteCursor() = default;
  explicit ByteCursor(std::span<const std::byte> bytes, std::size_t position = 0) : bytes_(bytes) { seek(position); }

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] std::size_t remaining() const { return bytes_.size() - position_; }
  [[nodiscard]] bool at_end() const { return position_ >= bytes_.size(); }
  [[nodiscard]] std::span<const std::byte> rest() const { return bytes_.subspan(position_); }

  void seek(std::size_t position) {
    if (position > bytes_.size()) {
      set_failed();
    } else {
      position_ = position;
    }
  }
  void skip(std::uint64_t n) {
    if (n > remaining()) {
      set_failed();
    } else {
      position_ += static_cast<std::size_t>(n);
    }
  }
  void set_failed() {
    ok_ = false;
    position_ = bytes_.size();
  }

  template <class T>
  [[nodiscard]] T read() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (remaining() < sizeof(T)) {
      set_failed();
      return value;
    }
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }
  [[nodiscard]] std::uint8_t u8() { return read<std::uint8_t>(); }
  [[nodiscard]] std::uint16_t u16() { return read<std::uint16_t>(); }
  [[nodiscard]] std::uint32_t u32() { return read<std::uint32_t>(); }
  [[nodiscard]] std::uint64_t u64() { return read<std::uint64_t>(); }

  /// LEB128 (DWARF 5 section 7.6). Bits beyond 64 are dropped; more than ten bytes fail.
  [[nodiscard]] std::uint64_t uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      const std::uint8_t b = u8();
      if (shift < 64) value |= std::uint64_t{b & 0x7fu} << shift;
      if ((b & 0x80) == 0) return value;
    }
    set_failed();
    return 0;
  }
  [[nodiscard]] std::int64_t sleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      const std::uint8_t b = u8();
      if (shift < 64) value |= std::uint64_t{b & 0x7fu} << shift;
      if ((b & 0x80) == 0) {
        if (shift + 7 < 64 && (b & 0x40) != 0) value |= ~std::uint64_t{0} << (shift + 7);
        return static_cast<std::int64_t>(value);
      }
    }
    set_failed();
    return 0;
  }
  /// Bytes up to a NUL, which is consumed; fails when there is none.
  [[nodiscard]] std::string_view cstring() {
    const auto* start = reinterpret_cast<const char*>(bytes_.data() + position_);
    const void* nul = remaining() == 0 ? nullptr : std::memchr(start, 0, remaining());
    if (nul == nullptr) {
      set_failed();
      return {};
    }
    const auto length = static_cast<std::size_t>(static_cast<const char*>(nul) - start);
    position_ += length + 1;
    return {start, length};
  }
  [[nodiscard]] std::span<const std::byte> bytes(std::uint64_t n) {
    if (n > remaining()) {
      set_failed();
      return {};
    }
    auto s = bytes_.subspan(position_, static_cast<std::size_t>(n));
    position_ += static_cast<std::size_t>(n);
    return s;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
  bool ok_ = true;
};

/// A value at a fixed offset, or nothing when it does not lie wholly inside.
template <class T>
[[nodiscard]] std::optional<T> load_at(std::span<const std::byte> bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

}  // namespace mixstack::base
