#include "base/arch/aarch64/call_site.h"

#include "base/system/byte_cursor.h"

namespace mixstack::arch::aarch64 {

std::optional<CallSite> call_before(std::span<const std::byte> before, Address return_address) {
  if (before.size() < 4 || return_address % 4 != 0) return std::nullopt;
  const auto word = base::load_at<std::uint32_t>(before, before.size() - 4).value_or(0);
  if ((word & 0xfc000000u) == 0x94000000u) {
    const auto words = static_cast<std::int64_t>(static_cast<std::int32_t>(word << 6) >> 6);
    return CallSite{4, return_address - 4 + static_cast<Address>(words * 4)};
  }
  const bool blr = (word & 0xfffffc1fu) == 0xd63f0000u;
  const bool blra_zero = (word & 0xfffff81fu) == 0xd63f081fu;
  const bool blra = (word & 0xfffff800u) == 0xd73f0800u;
  if (blr || blra_zero || blra) return CallSite{4, std::nullopt};
  return std::nullopt;
}

}  // namespace mixstack::arch::aarch64
