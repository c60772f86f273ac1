#include "target/self/context_registers.h"

#include <cstddef>
#include <cstring>

namespace mixstack::target {

Registers context_registers(const void* context) {
  // The sigcontext starts at 176: fault address, x0..x30, sp, pc (Linux arch/arm64/include/uapi/asm/sigcontext.h).
  constexpr std::size_t kRegisters = 176 + 8;
  Registers registers(Arch::aarch64);
  for (unsigned i = 0; i <= aarch64_reg::pc; i++) {
    std::uint64_t value;
    std::memcpy(&value, static_cast<const std::byte*>(context) + kRegisters + 8 * std::size_t{i}, sizeof(value));
    registers.set(i, value);
  }
  return registers;
}

Address own_thread_pointer() {
  Address pointer;
  asm("mrs %0, tpidr_el0" : "=r"(pointer));
  return pointer;
}

}  // namespace mixstack::target
