#include "target/self/context_registers.h"

#include <array>
#include <cstddef>
#include <cstring>

namespace mixstack::target {

Registers context_registers(const void* context) {
  using namespace x86_64_reg;  // NOLINT: the list below is of its names
  // Flags, link and stack take 40 bytes, then the registers in this order
  // (Linux arch/x86/include/uapi/asm/{ucontext,sigcontext}.h; glibc's ucontext_t begins alike).
  constexpr std::size_t kRegisters = 40;
  constexpr std::array<unsigned, 17> kOrder{r8,  r9,  r10, r11, r12, r13, r14, r15, rdi,
                                            rsi, rbp, rbx, rdx, rax, rcx, rsp, rip};
  Registers registers(Arch::x86_64);
  for (std::size_t i = 0; i < kOrder.size(); i++) {
    std::uint64_t value;
    std::memcpy(&value, static_cast<const std::byte*>(context) + kRegisters + 8 * i, sizeof(value));
    registers.set(kOrder[i], value);
  }
  return registers;
}

Address own_thread_pointer() {
  Address pointer;
  asm("movq %%fs:0, %0" : "=r"(pointer));
  return pointer;
}

}  // namespace mixstack::target
