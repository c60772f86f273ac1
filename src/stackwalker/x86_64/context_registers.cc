#include "stackwalker/context_registers.h"

#include <array>
#include <utility>

namespace mixstack::stackwalker {

Registers registers_of(const ucontext_t& context) {
  using namespace x86_64_reg;
  constexpr std::array<std::pair<int, unsigned>, 8> kSaved{{{REG_RIP, rip},
                                                            {REG_RSP, rsp},
                                                            {REG_RBP, rbp},
                                                            {REG_RBX, rbx},
                                                            {REG_R12, r12},
                                                            {REG_R13, r13},
                                                            {REG_R14, r14},
                                                            {REG_R15, r15}}};
  Registers registers(Arch::x86_64);
  for (const auto& [from, to] : kSaved) registers.set(to, static_cast<std::uint64_t>(context.uc_mcontext.gregs[from]));
  return registers;
}

}  // namespace mixstack::stackwalker
