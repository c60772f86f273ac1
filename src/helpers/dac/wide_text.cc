#include "helpers/dac/wide_text.h"

namespace mixstack::helper {
namespace {

void append(std::string& out, char32_t c) {
  const auto byte = [&](char32_t b) { out.push_back(static_cast<char>(static_cast<unsigned char>(b))); };
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xc0 | c >> 6);
    byte(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    byte(0xe0 | c >> 12);
    byte(0x80 | (c >> 6 & 0x3f));
    byte(0x80 | (c & 0x3f));
  } else {
    byte(0xf0 | c >> 18);
    byte(0x80 | (c >> 12 & 0x3f));
    byte(0x80 | (c >> 6 & 0x3f));
    byte(0x80 | (c & 0x3f));
  }
}

bool is_high(char16_t c) { return c >= 0xd800 && c < 0xdc00; }
bool is_low(char16_t c) { return c >= 0xdc00 && c < 0xe000; }

}  // namespace

std::string to_utf8(std::u16string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); i++) {
    const char16_t c = text[i];
    if (is_high(c) && i + 1 < text.size() && is_low(text[i + 1])) {
      append(out, 0x10000u + ((c & 0x3ffu) << 10) + (text[++i] & 0x3ffu));
    } else {
      append(out, is_high(c) || is_low(c) ? U'\ufffd' : char32_t{c});
    }
  }
  return out;
}

}  // namespace mixstack::helper
