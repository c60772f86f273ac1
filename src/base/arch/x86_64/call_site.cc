#include "base/arch/x86_64/call_site.h"

#include <algorithm>

#include "base/system/byte_cursor.h"

namespace mixstack::arch::x86_64 {
namespace {

/// Length of `FF ModRM ...`, 0 when it is not FF /2 or its length hangs on a byte that is not there.
unsigned indirect_call_length(std::span<const std::byte> code) {
  if (code.size() < 2 || code[0] != std::byte{0xff}) return 0;
  const auto modrm = std::to_integer<unsigned>(code[1]);
  if ((modrm >> 3 & 7) != 2) return 0;
  const unsigned mod = modrm >> 6;
  const unsigned rm = modrm & 7;
  if (mod == 3) return 2;
  unsigned length = 2;
  unsigned displacement = mod == 1 ? 1 : mod == 2 ? 4 : 0;
  if (rm == 4) {
    if (code.size() < 3) return 0;
    length++;
    if (mod == 0 && (std::to_integer<unsigned>(code[2]) & 7) == 5) displacement = 4;
  } else if (mod == 0 && rm == 5) {
    displacement = 4;
  }
  return length + displacement;
}

}  // namespace

std::optional<CallSite> call_before(std::span<const std::byte> before, Address return_address) {
  const std::size_t n = before.size();
  if (n >= 5 && before[n - 5] == std::byte{0xe8}) {
    const auto displacement = base::load_at<std::int32_t>(before, n - 4).value_or(0);
    return CallSite{5, return_address + static_cast<Address>(std::int64_t{displacement})};
  }
  for (unsigned length = 2; length <= std::min<std::size_t>(n, 7); length++) {
    if (indirect_call_length(before.last(length)) == length) return CallSite{length, std::nullopt};
  }
  return std::nullopt;
}

}  // namespace mixstack::arch::x86_64
