#include "engine/images/plt_decode.h"

#include <algorithm>

#include "base/system/byte_cursor.h"

namespace mixstack::images::aarch64 {
namespace {

// AArch64 (ELF for the Arm 64-bit Architecture, "PLT"): [bti c;] adrp x16, page; ldr x17, [x16, #lo]; add; br x17.
constexpr std::uint32_t kBtiC = 0xd503245f;
constexpr bool is_adrp_x16(std::uint32_t i) { return (i & 0x9f00001f) == 0x90000010; }
constexpr bool is_ldr_x17_x16(std::uint32_t i) { return (i & 0xffc003ff) == 0xf9400211; }

std::uint64_t adrp_target(std::uint32_t instruction, std::uint64_t address) {
  const std::uint64_t low = instruction >> 29 & 3, high = instruction >> 5 & 0x7ffff;
  auto pages = static_cast<std::int64_t>(high << 2 | low);
  if ((pages & 0x100000) != 0) pages -= 0x200000;
  return (address & ~std::uint64_t{0xfff}) + static_cast<std::uint64_t>(pages) * 4096;
}

}  // namespace

std::vector<PltJump> decode_plt(const Section& s) {
  constexpr std::size_t kLongest = 24;
  std::vector<PltJump> out;
  const auto at = [&](std::size_t i) { return base::load_at<std::uint32_t>(s.bytes, i).value_or(0); };
  for (std::size_t i = 0; i + 16 <= s.bytes.size() && out.size() < kMaxPltStubs; i += 4) {
    if (!is_adrp_x16(at(i)) || !is_ldr_x17_x16(at(i + 4))) continue;
    const std::size_t start = i >= 4 && at(i - 4) == kBtiC ? i - 4 : i;
    const std::uint64_t slot = adrp_target(at(i), s.address + i) + (at(i + 4) >> 10 & 0xfff) * 8;
    out.push_back({s.address + start, static_cast<std::uint32_t>(std::min(kLongest, s.bytes.size() - start)), slot});
  }
  for (std::size_t k = 1; k < out.size(); k++)
    out[k - 1].size =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(out[k - 1].size, out[k].address - out[k - 1].address));
  return out;
}

}  // namespace mixstack::images::aarch64
