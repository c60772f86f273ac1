#include "process/bpf/signature_bits.h"

#include <bit>

namespace mixstack::bpf {

/// The bits above a user address, up to bit 54 (ptrauth_user_pac_mask in arch/arm64/include/asm/pointer_auth.h). The
/// stack is the uppermost mapping, so its end tells how wide user addresses are.
std::uint64_t signature_bits(const std::vector<Region>& regions) {
  constexpr unsigned kTop = 55;
  const auto width = regions.empty() ? kTop : static_cast<unsigned>(std::bit_width(regions.back().range.end - 1));
  return width >= kTop ? 0 : (std::uint64_t{1} << kTop) - (std::uint64_t{1} << width);
}

}  // namespace mixstack::bpf
