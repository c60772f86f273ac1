#include "dotnet/names/bounded_text.h"

#include <array>
#include <cstdint>
#include <utility>

namespace mixstack::dotnet::names {
namespace {

struct Decoded {
  std::uint32_t code = 0;
  unsigned size = 0;          ///< 0: not a valid sequence
  bool is_cut_short = false;  ///< valid so far, but the text ends
};

/// One UTF-8 sequence (RFC 3629): no overlong forms, no surrogates, at most U+10FFFF.
Decoded decode(std::string_view s) {
  const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(s[i]); };
  const std::uint8_t first = at(0);
  const unsigned n = first < 0x80                    ? 1
                     : first >= 0xc2 && first < 0xe0 ? 2
                     : first >= 0xe0 && first < 0xf0 ? 3
                     : first >= 0xf0 && first < 0xf5 ? 4
                                                     : 0;
  if (n <= 1) return {first, n};
  std::uint32_t code = first & (0x7fu >> n);
  for (unsigned i = 1; i < n; i++) {
    if (i >= s.size()) return {0, 0, true};
    if ((at(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (at(i) & 0x3fu);
  }
  constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  if (code < least[n] || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff) return {};
  return {code, n};
}

bool is_harmful(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0x200e || c == 0x200f ||
         c == 0x061c || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

/// Private-use characters have no meaning of their own, so no compiler writes them in names.
bool is_private_use(std::uint32_t c) { return (c >= 0xe000 && c < 0xf900) || c >= 0xf0000; }

void append_hex(std::string& out, std::uint32_t value, unsigned digits) {
  constexpr std::string_view hex = "0123456789abcdef";
  for (unsigned i = digits; i-- > 0;) out += hex[value >> (4 * i) & 0xf];
}

void append_escaped(std::string& out, std::uint32_t c) {
  if (c == '\n') {
    out += "\\n";
  } else if (c == '\r') {
    out += "\\r";
  } else if (c == '\t') {
    out += "\\t";
  } else if (c < 0x100) {
    out += "\\x";
    append_hex(out, c, 2);
  } else {
    out += "\\u{";
    append_hex(out, c, 4);
    out += '}';
  }
}

}  // namespace

bool looks_like_identifier(std::string_view text) {
  if (text.empty() || text.find('\\') != std::string_view::npos) return false;
  const char c = text.front();
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
  return is_letter || c == '_' || c == '<' || c == '.' || c == '$';
}

bool is_plain_text(std::string_view text) {
  if (text.empty()) return false;
  while (!text.empty()) {
    const Decoded d = decode(text);
    if (d.size == 0 || is_harmful(d.code) || is_private_use(d.code)) return false;
    text.remove_prefix(d.size);
  }
  return true;
}

std::string printable(std::string_view text, bool was_cut) {
  bool plain = true;
  for (const char c : text) plain &= c >= 0x20 && c < 0x7f;
  if (plain) return std::string(text);
  std::string out;
  out.reserve(text.size() + 8);
  while (!text.empty()) {
    const Decoded d = decode(text);
    if (d.size == 0) {
      if (d.is_cut_short && was_cut) break;
      out += "\\x";
      append_hex(out, static_cast<std::uint8_t>(text.front()), 2);
      text.remove_prefix(1);
      continue;
    }
    if (is_harmful(d.code)) {
      append_escaped(out, d.code);
    } else {
      out += text.substr(0, d.size);
    }
    text.remove_prefix(d.size);
  }
  return out;
}

std::string BoundedText::take() && {
  std::string out = printable(text_, is_cut_);
  if (is_cut_) out += kCutMark;
  return out;
}

}  // namespace mixstack::dotnet::names
