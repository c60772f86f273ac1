#include "dotnet/code/nibble_map.h"

#include <array>
#include <optional>

namespace mixstack::dotnet {
namespace {

constexpr unsigned kBytesPerUnit = 256;
constexpr unsigned kBytesPerNibble = 32;
constexpr unsigned kNibbles = 8;
constexpr unsigned kCodeAlignment = 4;

constexpr std::uint32_t nibble_at(std::uint32_t unit, unsigned index) { return unit >> (28 - 4 * index) & 0xf; }
constexpr bool is_pointer(std::uint32_t unit) { return (unit & 0xf) > kNibbles; }
constexpr std::uint64_t decode_pointer(std::uint32_t unit) {
  return std::uint64_t{unit & ~0xfu} + (((unit & 0xf) - kNibbles - 1) << 2);
}
constexpr std::uint64_t start_of(std::uint64_t unit_index, unsigned index, std::uint32_t nibble) {
  return unit_index * kBytesPerUnit + std::uint64_t{index} * kBytesPerNibble +
         std::uint64_t{nibble - 1} * kCodeAlignment;
}

// The last method that starts in the nibbles [0, end) of a unit.
std::optional<std::uint64_t> last_start(std::uint32_t unit, std::uint64_t unit_index, unsigned end) {
  for (unsigned k = end; k-- > 0;) {
    const std::uint32_t n = nibble_at(unit, k);
    if (n != 0 && n <= kNibbles) return start_of(unit_index, k, n);
  }
  return std::nullopt;
}

Result<std::uint64_t> search_back(const MemoryReader& memory, const NibbleMap& map, std::uint64_t unit_index) {
  std::array<std::uint32_t, 256> units;
  for (std::uint64_t looked = 0; unit_index != 0 && looked < NibbleMap::kMaxUnits;) {
    const std::uint64_t n = unit_index < units.size() ? unit_index : units.size();
    const auto chunk = std::span(units).first(static_cast<std::size_t>(n));
    if (auto r = memory.read_exact(map.header_map + 4 * (unit_index - n), std::as_writable_bytes(chunk)); !r)
      return fail(r.error());
    for (std::uint64_t i = n; i-- > 0;)
      if (auto s = last_start(chunk[static_cast<std::size_t>(i)], unit_index - n + i, kNibbles)) return *s;
    unit_index -= n;
    looked += n;
  }
  return fail(unit_index == 0 ? ErrorCode::not_found : ErrorCode::limit_exceeded);
}

}  // namespace

Result<Address> NibbleMap::method_start(const MemoryReader& memory, Address pc) const {
  if (pc < map_base) return fail(ErrorCode::not_found, pc);
  const std::uint64_t delta = pc - map_base;
  // Back pointers are 32 bits wide: a heap cannot be larger.
  if (delta > 0xffffffffu) return fail(ErrorCode::not_found, pc);
  const std::uint64_t index = delta / kBytesPerUnit;
  const unsigned k = static_cast<unsigned>(delta / kBytesPerNibble % kNibbles);
  const auto accept = [&](std::uint64_t start) -> Result<Address> {
    if (start > delta) return fail(ErrorCode::malformed, pc);
    return map_base + start;
  };

  auto unit = memory.read<std::uint32_t>(header_map + 4 * index);
  if (!unit) return fail(unit.error());
  const bool pointers = form == NibbleMapForm::constant_time;
  if (pointers && is_pointer(*unit)) return accept(decode_pointer(*unit));
  const std::uint32_t own = nibble_at(*unit, k);
  if (own != 0 && own <= kNibbles && start_of(index, k, own) <= delta) return map_base + start_of(index, k, own);
  if (auto s = last_start(*unit, index, k)) return map_base + *s;
  if (index == 0) return fail(ErrorCode::not_found, pc);
  if (!pointers) {
    auto s = search_back(memory, *this, index);
    return s ? accept(*s) : fail(s.error());
  }
  auto before = memory.read<std::uint32_t>(header_map + 4 * (index - 1));
  if (!before) return fail(before.error());
  if (is_pointer(*before)) return accept(decode_pointer(*before));
  if (auto s = last_start(*before, index - 1, kNibbles)) return map_base + *s;
  return fail(ErrorCode::not_found, pc);
}

}  // namespace mixstack::dotnet
