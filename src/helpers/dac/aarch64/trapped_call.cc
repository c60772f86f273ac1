// System call convention: syscall(2), arm64.
#include "helpers/dac/trapped_call.h"

namespace mixstack::helper {

TrappedCall trapped_call(const siginfo_t& info, const ucontext_t& context) {
  const auto& r = context.uc_mcontext.regs;
  return {info.si_syscall, {r[0], r[1], r[2], r[3]}};
}

void set_result(ucontext_t& context, long result) {
  context.uc_mcontext.regs[0] = static_cast<unsigned long long>(result);
}

}  // namespace mixstack::helper
