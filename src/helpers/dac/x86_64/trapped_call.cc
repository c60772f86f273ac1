// System call convention: System V ABI AMD64, appendix A.2.1.
#include "helpers/dac/trapped_call.h"

namespace mixstack::helper {

TrappedCall trapped_call(const siginfo_t& info, const ucontext_t& context) {
  const auto& r = context.uc_mcontext.gregs;
  const auto value = [&](int reg) { return static_cast<std::uint64_t>(r[reg]); };
  return {info.si_syscall, {value(REG_RDI), value(REG_RSI), value(REG_RDX), value(REG_R10)}};
}

void set_result(ucontext_t& context, long result) { context.uc_mcontext.gregs[REG_RAX] = result; }

}  // namespace mixstack::helper
