#include "unwind/signal_trampoline.h"

#include <algorithm>
#include <array>

namespace mixstack::unwind {
namespace {

// mov $15, %rax; syscall (glibc, musl), or the short mov of others.
constexpr std::array<std::uint8_t, 9> kX86Long{0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
constexpr std::array<std::uint8_t, 7> kX86Short{0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
// mov x8, #139; svc #0 (Linux arch/arm64/kernel/vdso/sigreturn.S)
constexpr std::array<std::uint8_t, 8> kArm{0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};

template <std::size_t N>
bool starts_with(std::span<const std::byte> code, const std::array<std::uint8_t, N>& expected) {
  return code.size() >= N && std::equal(expected.begin(), expected.end(), code.begin(),
                                        [](std::uint8_t e, std::byte b) { return std::byte{e} == b; });
}

UnwindRule signal_rule(unsigned sp, std::int32_t saved_sp) {
  UnwindRule rule;
  rule.cfa_kind = CfaKind::deref_register_offset;
  rule.cfa_register = static_cast<std::uint8_t>(sp);
  rule.cfa_offset = saved_sp;
  rule.is_signal_frame = true;
  rule.origin = StepperId::signal_frame;
  return rule;
}

/// At sp lies a ucontext; its gregs start at 40 in the order r8..r15 rdi rsi rbp rbx rdx rax rcx rsp rip
/// (Linux arch/x86/include/uapi/asm/sigcontext.h).
UnwindRule x86_64_rule() {
  using namespace x86_64_reg;  // NOLINT: the list below is of its names
  constexpr std::array<unsigned, 17> kOrder{r8,  r9,  r10, r11, r12, r13, r14, r15, rdi,
                                            rsi, rbp, rbx, rdx, rax, rcx, rsp, rip};
  constexpr std::int32_t kRegisters = 40;
  UnwindRule rule = signal_rule(rsp, kRegisters + 8 * 15);
  rule.ra_register = rip;
  for (std::size_t i = 0; i < kOrder.size(); i++)
    rule.rules[rule.count++] = {static_cast<std::uint8_t>(kOrder[i]), RegisterRuleKind::at_register_offset, rsp, 0,
                                kRegisters + 8 * static_cast<std::int32_t>(i)};
  return rule;
}

/// At sp lies a siginfo of 128 bytes, then a ucontext whose sigcontext starts at 176: fault address, x0..x30, sp, pc
/// (Linux arch/arm64/include/uapi/asm/{ucontext,sigcontext}.h).
UnwindRule aarch64_rule() {
  constexpr std::int32_t kRegisters = 128 + 176 + 8;
  UnwindRule rule = signal_rule(aarch64_reg::sp, kRegisters + 8 * 31);
  rule.ra_register = aarch64_reg::pc;
  for (std::uint8_t reg = 0; reg <= aarch64_reg::pc; reg++)
    rule.rules[rule.count++] = {reg, RegisterRuleKind::at_register_offset, aarch64_reg::sp, 0, kRegisters + 8 * reg};
  return rule;
}

}  // namespace

std::optional<UnwindRule> match_signal_trampoline(Arch arch, std::span<const std::byte> code) {
  if (arch == Arch::x86_64 && (starts_with(code, kX86Long) || starts_with(code, kX86Short))) return x86_64_rule();
  if (arch == Arch::aarch64 && starts_with(code, kArm)) return aarch64_rule();
  return std::nullopt;
}

std::optional<unsigned> signal_info_offset(Arch arch) {
  // struct rt_sigframe, Linux arch/x86/include/asm/sigframe.h and arch/arm64/kernel/signal.c: flags, link and stack of
  // the ucontext take 40 bytes, its sigcontext 256, its mask 8.
  if (arch == Arch::x86_64) return 304;
  if (arch == Arch::aarch64) return 0;
  return std::nullopt;
}

}  // namespace mixstack::unwind
