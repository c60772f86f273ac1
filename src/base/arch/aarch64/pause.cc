#include "base/arch/aarch64/pause.h"

#include "base/system/byte_cursor.h"

namespace mixstack::arch::aarch64 {

bool pauses(std::span<const std::byte> code) {
  constexpr std::uint32_t kYield = 0xd503203f, kBarrier = 0xd5033fdf;
  for (std::size_t at = 0; at + 4 <= code.size(); at += 4) {
    const auto word = base::load_at<std::uint32_t>(code, at);
    if (word == kYield || word == kBarrier) return true;
  }
  return false;
}

}  // namespace mixstack::arch::aarch64
