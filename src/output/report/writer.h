// Where a report goes: a buffer that is handed on piece by piece, so that a report of any size costs one buffer.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace mixstack::report {

/// Collects text and hands it to a drain in pieces of about 64 KiB. Nothing is handed on after the last `flush()`
/// unless it is called; the drain remembers its own failures. Not thread-safe.
class Writer {
 public:
  using Drain = std::function<void(std::string_view)>;
  explicit Writer(Drain drain);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  Writer& operator<<(std::string_view text) {
    if (text.size() > kPiece - used_) return slow_append(text);
    if (text.empty()) return *this;  // its address may be null
    std::memcpy(buffer_.get() + used_, text.data(), text.size());
    used_ += text.size();
    return *this;
  }
  Writer& operator<<(char c) {
    if (used_ == kPiece) flush();
    buffer_[used_++] = c;
    return *this;
  }
  /// Lower-case hexadecimal without "0x", at least `width` digits (0 to 16).
  Writer& hex(std::uint64_t value, unsigned width = 1);
  Writer& decimal(std::uint64_t value);
  Writer& decimal(std::int64_t value);
  void flush();

 private:
  static constexpr std::size_t kPiece = 64 << 10;
  Writer& slow_append(std::string_view text);

  Drain drain_;
  std::unique_ptr<char[]> buffer_;
  std::size_t used_ = 0;
};

/// Everything `write` writes, as one string.
[[nodiscard]] std::string collect(const std::function<void(Writer&)>& write);

}  // namespace mixstack::report
