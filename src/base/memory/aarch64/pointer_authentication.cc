#include "base/memory/pointer_authentication.h"

namespace mixstack::memory {

std::uint64_t own_pac_mask() {
  // XPACLRI (a hint: nothing happens on CPUs without authentication) takes the code out of x30. Bit 55 is clear in
  // addresses of user space.
  constexpr std::uint64_t kAllBits = 0xff7fffffffffffff;
  register std::uint64_t x30 asm("x30") = kAllBits;
  asm volatile("hint #7" : "+r"(x30));
  return kAllBits ^ x30;
}

}  // namespace mixstack::memory
