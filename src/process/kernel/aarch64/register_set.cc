#include "process/kernel/register_set.h"

#include <cstring>

#include "base/system/byte_cursor.h"

namespace mixstack::process::aarch64 {

// struct user_pt_regs, arch/arm64/include/uapi/asm/ptrace.h: x0 to x30, sp, pc, pstate. The DWARF numbers of
// registers.h have the same order. The system call and the thread pointer are sets of their own.
Result<RegisterSet> decode_register_set(std::span<const std::byte> bytes) {
  if (bytes.size() != kRegisterSetSize) return fail(ErrorCode::unsupported_cpu, bytes.size());
  RegisterSet set;
  set.registers = Registers(Arch::aarch64);
  for (unsigned r = aarch64_reg::x0; r <= aarch64_reg::pc; r++)
    set.registers.set(r, base::load_at<std::uint64_t>(bytes, r * 8).value_or(0));
  return set;
}

std::vector<std::byte> encode_register_set(const RegisterSet& set) {
  std::vector<std::byte> out(kRegisterSetSize);
  for (unsigned r = aarch64_reg::x0; r <= aarch64_reg::pc; r++) {
    const std::uint64_t value = set.registers.value_or_zero(r);
    std::memcpy(out.data() + r * 8, &value, 8);
  }
  return out;
}

}  // namespace mixstack::process::aarch64
