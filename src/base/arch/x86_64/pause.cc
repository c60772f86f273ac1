#include "base/arch/x86_64/pause.h"

#include <algorithm>
#include <array>

namespace mixstack::arch::x86_64 {

bool pauses(std::span<const std::byte> code) {
  constexpr std::array kPause{std::byte{0xf3}, std::byte{0x90}};
  return std::search(code.begin(), code.end(), kPause.begin(), kPause.end()) != code.end();
}

}  // namespace mixstack::arch::x86_64
