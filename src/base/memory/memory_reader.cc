#include "mixstack/memory_reader.h"

#include <algorithm>
#include <array>
#include <bit>

namespace mixstack {

static_assert(std::endian::native == std::endian::little, "targets and hosts of mixstack are little-endian");

Result<std::string> MemoryReader::read_cstring(Address address, std::size_t limit) const {
  std::string text;
  std::array<std::byte, 128> chunk;
  while (text.size() <= limit) {
    auto n = read_some(address + text.size(), chunk);
    if (!n) return fail(n.error());
    const auto* chars = reinterpret_cast<const char*>(chunk.data());
    const auto* nul = std::find(chars, chars + *n, '\0');
    text.append(chars, nul);
    if (nul != chars + *n) {
      if (text.size() > limit) break;
      return text;
    }
    if (*n == 0) return fail(ErrorCode::unreadable_memory, address + text.size());
  }
  return fail(ErrorCode::limit_exceeded, address);
}

bool StackView::slow_word(Address address, std::uint64_t& out) const {
  return bytes(address, std::as_writable_bytes(std::span<std::uint64_t, 1>(&out, 1)));
}

bool StackView::bytes(Address address, std::span<std::byte> out) const {
  const Address offset = address - base;
  if (offset < size && out.size() <= size - offset) {
    std::memcpy(out.data(), data + offset, out.size());
    return true;
  }
  return fallback != nullptr && fallback->read_exact(address, out).has_value();
}

}  // namespace mixstack
