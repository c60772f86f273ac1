#include "engine/unwind/signal_trampoline.h"

#include <algorithm>

#include "base/arch/cpu.h"

namespace mixstack::unwind {
namespace {

bool starts_with(std::span<const std::byte> code, std::span<const std::uint8_t> expected) {
  return !expected.empty() && code.size() >= expected.size() &&
         std::equal(expected.begin(), expected.end(), code.begin(),
                    [](std::uint8_t e, std::byte b) { return std::byte{e} == b; });
}

UnwindRule signal_rule(const arch::Cpu& cpu) {
  const auto sp = static_cast<std::uint8_t>(cpu.registers.sp);
  UnwindRule rule;
  rule.cfa_kind = CfaKind::deref_register_offset;
  rule.cfa_register = sp;
  rule.is_signal_frame = true;
  rule.origin = StepperId::signal_frame;
  rule.ra_register = static_cast<std::uint8_t>(cpu.registers.pc);
  std::int32_t offset = cpu.signal_frame.context + cpu.signal_frame.registers;
  for (const std::uint8_t reg : cpu.signal_frame.order) {
    if (reg == sp) rule.cfa_offset = offset;
    rule.rules[rule.count++] = {reg, RegisterRuleKind::at_register_offset, sp, 0, offset};
    offset += 8;
  }
  return rule;
}

}  // namespace

std::optional<UnwindRule> match_signal_trampoline(Arch arch, std::span<const std::byte> code) {
  const arch::Cpu& cpu = arch::cpu(arch);
  for (const auto expected : cpu.signal_frame.return_codes)
    if (starts_with(code, expected)) return signal_rule(cpu);
  return std::nullopt;
}

void correct_old_trampoline(Arch arch, UnwindRule& rule) {
  const arch::Cpu& cpu = arch::cpu(arch);
  const bool is_record = rule.is_signal_frame && cpu.has_link_register() && cpu.is_walked &&
                         rule.cfa_kind == CfaKind::register_offset && rule.cfa_register == cpu.registers.fp &&
                         rule.cfa_offset == 0 && rule.count <= 2;
  if (is_record) rule = signal_rule(cpu);
}

std::optional<unsigned> signal_info_offset(Arch arch) {
  const arch::SignalFrame& frame = arch::cpu(arch).signal_frame;
  return frame.order.empty() ? std::nullopt : std::optional<unsigned>(frame.info);
}

}  // namespace mixstack::unwind
