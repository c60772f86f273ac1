#include "dotnet/names/managed_string.h"

#include <algorithm>
#include <vector>

namespace mixstack::dotnet::names {
namespace {

void append_utf8(std::string& out, std::uint32_t c) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6);
    put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3f));
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  }
}

void append_lone_surrogate(std::string& out, std::uint32_t c) {
  constexpr std::string_view hex = "0123456789abcdef";
  out += "\\u{";
  for (int shift = 12; shift >= 0; shift -= 4) out += hex[c >> shift & 0xf];
  out += '}';
}

constexpr std::uint32_t kMaxStringLength = 0x3fffffdf;  // String.MaxLength (System.Private.CoreLib String.cs)

std::string finish(std::span<const char16_t> units, bool was_cut) {
  if (was_cut && !units.empty() && (units.back() & 0xfc00) == 0xd800) units = units.first(units.size() - 1);
  std::string text = printable(utf16_to_utf8(units));
  if (was_cut) text += kCutMark;
  return text;
}

}  // namespace

std::string utf16_to_utf8(std::span<const char16_t> units) {
  std::string out;
  out.reserve(units.size());
  for (std::size_t i = 0; i < units.size(); i++) {
    const std::uint32_t c = units[i];
    if ((c & 0xf800) != 0xd800) {
      append_utf8(out, c);
    } else if (c < 0xdc00 && i + 1 < units.size() && (units[i + 1] & 0xfc00) == 0xdc00) {
      append_utf8(out, 0x10000 + ((c & 0x3ff) << 10) + (units[++i] & 0x3ffu));
    } else {
      append_lone_surrogate(out, c);
    }
  }
  return out;
}

Result<std::string> read_wide_string(const MemoryReader& memory, Address address, std::size_t limit) {
  std::vector<char16_t> units;
  constexpr std::size_t kStep = 64;
  while (units.size() < limit) {
    const std::size_t old = units.size();
    units.resize(std::min(limit, old + kStep));
    const auto room = std::as_writable_bytes(std::span(units).subspan(old));
    const auto n = memory.read_some(address + 2 * old, room);
    if (!n) return fail(n.error());
    units.resize(old + *n / 2);
    const auto nul = std::find(units.begin() + static_cast<std::ptrdiff_t>(old), units.end(), u'\0');
    if (nul != units.end()) return finish({units.begin(), nul}, false);
    if (*n < room.size()) return fail(ErrorCode::unreadable_memory, address + 2 * old + *n);
  }
  return finish(units, true);
}

Result<std::string> read_managed_string(const RuntimeMemory& memory, Address object, std::size_t limit) {
  if (object == 0) return fail(ErrorCode::not_found);
  const StringLayout& l = memory.layouts().string;
  const auto length = memory.value<std::uint32_t>(object, l.length);
  if (!length) return fail(length.error());
  if (!l.first_char) return fail(ErrorCode::field_unavailable, object);
  if (*length > kMaxStringLength) return fail(ErrorCode::malformed, *length);
  std::vector<char16_t> units(std::min<std::size_t>(*length, limit));
  if (auto r = memory.reader().read_exact(object + l.first_char.offset, std::as_writable_bytes(std::span(units))); !r)
    return fail(r.error());
  return finish(units, *length > limit);
}

}  // namespace mixstack::dotnet::names
