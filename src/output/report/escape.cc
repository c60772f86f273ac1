#include "output/report/escape.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace mixstack::report {
namespace {

unsigned char byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

bool changes_direction(std::uint32_t c) {
  return c == 0x61c || (c >= 0x200e && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

bool safe_on_terminal(const CodePoint& c) {
  if (!c.valid || c.value < 0x20 || (c.value >= 0x7f && c.value < 0xa0)) return false;
  return c.value != 0x2028 && c.value != 0x2029 && c.value != 0xfeff && !changes_direction(c.value);
}

void append_escaped(std::string& out, std::string_view bytes, const CodePoint& c) {
  if (c.valid && c.value == '\n') {
    out += "\\n";
  } else if (c.valid && c.value == '\t') {
    out += "\\t";
  } else if (c.valid && c.value >= 0x80) {
    fmt::format_to(std::back_inserter(out), "\\u{{{:04x}}}", c.value);
  } else {
    fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte_at(bytes, 0));
  }
}

bool plain_ascii(unsigned char c) { return c >= 0x20 && c < 0x7f; }

}  // namespace

CodePoint first_code_point(std::string_view text) {
  const unsigned lead = byte_at(text, 0);
  if (lead < 0x80) return {lead, 1, true};
  const unsigned size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return {lead, 1, false};
  std::uint32_t value = lead & (0x7fu >> size);
  for (unsigned i = 1; i < size; i++) {
    const unsigned next = byte_at(text, i);
    if ((next & 0xc0) != 0x80) return {lead, 1, false};
    value = value << 6 | (next & 0x3f);
  }
  const bool overlong = (size == 3 && value < 0x800) || (size == 4 && value < 0x10000);
  const bool surrogate = value >= 0xd800 && value < 0xe000;
  if (overlong || surrogate || value > 0x10ffff) return {lead, 1, false};
  return {value, size, true};
}

std::string escape_for_terminal(std::string_view text) {
  if (std::all_of(text.begin(), text.end(), [](char c) { return plain_ascii(static_cast<unsigned char>(c)); }))
    return std::string(text);
  std::string out;
  while (!text.empty()) {
    const CodePoint c = first_code_point(text);
    if (safe_on_terminal(c)) {
      out += text.substr(0, c.size);
    } else {
      append_escaped(out, text, c);
    }
    text.remove_prefix(c.size);
  }
  return out;
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const CodePoint c = first_code_point(text);
    if (!c.valid) {
      out += "\xef\xbf\xbd";
    } else if (c.value == '"' || c.value == '\\') {
      out += '\\';
      out += static_cast<char>(c.value);
    } else if (c.value < 0x20 || c.value == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", c.value);
    } else {
      out += text.substr(0, c.size);
    }
    text.remove_prefix(c.size);
  }
  out += '"';
  return out;
}

}  // namespace mixstack::report
