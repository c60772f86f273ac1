// Where a report goes: a buffer that is handed on piece by piece, so that a report of any size costs one buffer.
#pragma once

#include <cstdint>
#include <functional>
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
    if (buffer_.size() + text.size() > kPiece) flush();
    buffer_.append(text);
    return *this;
  }
  Writer& operator<<(char c) {
    if (buffer_.size() >= kPiece) flush();
    buffer_.push_back(c);
    return *this;
  }
  /// Lower-case hexadecimal without "0x", at least `width` digits (0 to 16).
  Writer& hex(std::uint64_t value, unsigned width = 1);
  Writer& decimal(std::uint64_t value);
  Writer& decimal(std::int64_t value);
  void flush();

 private:
  static constexpr std::size_t kPiece = 64 << 10;
  Drain drain_;
  std::string buffer_;
};

/// Everything `write` writes, as one string.
[[nodiscard]] std::string collect(const std::function<void(Writer&)>& write);

}  // namespace mixstack::report
