#include "process/kernel/register_set.h"

#include <array>
#include <cerrno>
#include <cstring>

#include "base/system/byte_cursor.h"

namespace mixstack::process::x86_64 {
namespace {

// Order of struct user_regs_struct, arch/x86/include/asm/user_64.h.
enum Slot : std::size_t {
  r15,
  r14,
  r13,
  r12,
  bp,
  bx,
  r11,
  r10,
  r9,
  r8,
  ax,
  cx,
  dx,
  si,
  di,
  orig_ax,
  ip,
  cs,
  flags,
  sp,
  ss,
  fs_base,
  gs_base,
  ds,
  es,
  fs,
  gs
};
static_assert((gs + 1) * 8 == kRegisterSetSize);

struct Pair {
  unsigned reg;
  Slot slot;
};
namespace reg = x86_64_reg;
constexpr std::array<Pair, 17> kPairs{{{reg::rax, ax},
                                       {reg::rdx, dx},
                                       {reg::rcx, cx},
                                       {reg::rbx, bx},
                                       {reg::rsi, si},
                                       {reg::rdi, di},
                                       {reg::rbp, bp},
                                       {reg::rsp, sp},
                                       {reg::r8, r8},
                                       {reg::r9, r9},
                                       {reg::r10, r10},
                                       {reg::r11, r11},
                                       {reg::r12, r12},
                                       {reg::r13, r13},
                                       {reg::r14, r14},
                                       {reg::r15, r15},
                                       {reg::rip, ip}}};

/// The results of a waiting system call that was interrupted, before it is restarted (include/linux/errno.h):
/// ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND, ERESTART_RESTARTBLOCK; or EINTR, which is never restarted.
bool is_interrupted(std::int64_t answer) {
  return answer == -512 || answer == -513 || answer == -514 || answer == -516 || answer == -EINTR;
}

}  // namespace

Result<RegisterSet> decode_register_set(std::span<const std::byte> bytes) {
  if (bytes.size() != kRegisterSetSize) return fail(ErrorCode::unsupported_cpu, bytes.size());
  const auto word = [&](Slot s) { return base::load_at<std::uint64_t>(bytes, s * 8).value_or(0); };
  RegisterSet set;
  set.registers = Registers(Arch::x86_64);
  for (const auto& p : kPairs) set.registers.set(p.reg, word(p.slot));
  // The kernel stores -1 in orig_ax on every entry that is not a system call (arch/x86/entry/entry_64.S).
  set.syscall = static_cast<std::int64_t>(word(orig_ax));
  if (set.syscall < 0) set.syscall = -1;
  set.was_waiting = set.syscall >= 0 && is_interrupted(static_cast<std::int64_t>(word(ax)));
  set.thread_pointer = word(fs_base);
  return set;
}

std::vector<std::byte> encode_register_set(const RegisterSet& set) {
  // Segments of 64-bit user code (arch/x86/include/asm/segment.h) and the flag that is always set.
  constexpr std::uint64_t kUserCode = 0x33, kUserData = 0x2b, kReserved = 2;
  std::vector<std::byte> out(kRegisterSetSize);
  const auto put = [&out](Slot s, std::uint64_t value) { std::memcpy(out.data() + s * 8, &value, 8); };
  for (const auto& p : kPairs) put(p.slot, set.registers.value_or_zero(p.reg));
  put(orig_ax, static_cast<std::uint64_t>(set.syscall));
  put(fs_base, set.thread_pointer);
  put(cs, kUserCode);
  put(ss, kUserData);
  put(flags, kReserved);
  return out;
}

}  // namespace mixstack::process::x86_64
