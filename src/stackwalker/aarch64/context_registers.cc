#include "stackwalker/context_registers.h"

namespace mixstack::stackwalker {

Registers registers_of(const ucontext_t& context) {
  Registers registers(Arch::aarch64);
  // glibc's getcontext stores the return address as pc and in x30.
  for (unsigned reg = aarch64_reg::x19; reg <= aarch64_reg::x30; reg++)
    registers.set(reg, context.uc_mcontext.regs[reg]);
  registers.set(aarch64_reg::sp, context.uc_mcontext.sp);
  registers.set(aarch64_reg::pc, context.uc_mcontext.pc);
  return registers;
}

}  // namespace mixstack::stackwalker
