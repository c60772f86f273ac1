#include "output/report/writer.h"

#include <array>
#include <charconv>
#include <utility>

namespace mixstack::report {

Writer::Writer(Drain drain) : drain_(std::move(drain)), buffer_(std::make_unique_for_overwrite<char[]>(kPiece)) {}

Writer& Writer::hex(std::uint64_t value, unsigned width) {
  std::array<char, 16> digits{};
  unsigned first = 16;
  do {
    digits[--first] = "0123456789abcdef"[value & 15];
    value >>= 4;
  } while (value != 0);
  while (first > 0 && 16 - first < width) digits[--first] = '0';
  return *this << std::string_view(digits.data() + first, 16 - first);
}

Writer& Writer::decimal(std::uint64_t value) {
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return *this << std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

Writer& Writer::decimal(std::int64_t value) {
  if (value >= 0) return decimal(static_cast<std::uint64_t>(value));
  return (*this << '-').decimal(~static_cast<std::uint64_t>(value) + 1);
}

void Writer::flush() {
  if (used_ != 0) drain_({buffer_.get(), used_});
  used_ = 0;
}

Writer& Writer::slow_append(std::string_view text) {
  flush();
  if (text.size() > kPiece) {
    drain_(text);
    return *this;
  }
  return *this << text;
}

std::string collect(const std::function<void(Writer&)>& write) {
  std::string all;
  Writer writer([&all](std::string_view piece) { all.append(piece); });
  write(writer);
  writer.flush();
  return all;
}

}  // namespace mixstack::report
