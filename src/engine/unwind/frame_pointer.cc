#include "engine/unwind/frame_pointer.h"

#include "base/arch/cpu.h"

namespace mixstack::unwind {
namespace {

struct FrameRecord {
  std::uint64_t saved_fp = 0;
  std::uint64_t return_address = 0;
};

/// Whether a frame pointer ends the chain: 0, on CPUs whose ABI says so (AAPCS64, "The Frame Pointer"). On others the
/// register may hold anything, even zero.
bool ends_chain(Address fp, const arch::Cpu& cpu) { return fp == 0 && cpu.has_link_register(); }

bool is_plausible(Address fp, Address sp, const FrameRecord& record) {
  if (record.return_address == 0) return record.saved_fp == 0;  // the outermost frame
  if (record.saved_fp == 0) return true;
  return record.saved_fp % 8 == 0 && record.saved_fp > fp && record.saved_fp - sp <= 2 * kMaxFrameSize;
}

void add(UnwindRule& rule, unsigned reg, std::int32_t cfa_offset) {
  RegisterRule& r = rule.rules[rule.count++];
  r.reg = static_cast<std::uint8_t>(reg);
  r.kind = RegisterRuleKind::at_cfa_offset;
  r.value = cfa_offset;
}

}  // namespace

Result<FramePointerRule> frame_pointer_rule(const Registers& registers, const StackView& stack) {
  const arch::Cpu& cpu = arch::cpu(registers.arch());
  if (!cpu.is_walked) return fail(ErrorCode::unsupported_cpu);
  const ArchRegisters& numbers = cpu.registers;
  if (!registers.is_known(numbers.fp)) return fail(ErrorCode::register_unknown, numbers.fp);
  if (!registers.is_known(numbers.sp)) return fail(ErrorCode::register_unknown, numbers.sp);
  const Address fp = registers.fp();
  const Address sp = registers.sp();
  FramePointerRule result;
  UnwindRule& rule = result.rule;
  rule.origin = StepperId::frame_pointer;
  rule.trust = Trust::frame_pointer;
  if (ends_chain(fp, cpu)) {
    rule.is_end_of_stack = true;
    return result;
  }
  if (fp % 8 != 0 || fp < sp || fp - sp > kMaxFrameSize) return fail(ErrorCode::no_unwind_info, fp);
  FrameRecord record;
  if (!stack.word(fp, record.saved_fp)) return fail(ErrorCode::unreadable_memory, fp);
  if (!stack.word(fp + 8, record.return_address)) return fail(ErrorCode::unreadable_memory, fp + 8);
  if (!is_plausible(fp, sp, record)) return fail(ErrorCode::no_unwind_info, fp);

  result.sp_is_exact = !cpu.has_link_register();
  rule.cfa_kind = CfaKind::register_offset;
  rule.cfa_register = static_cast<std::uint8_t>(numbers.fp);
  rule.cfa_offset = 16;
  rule.ra_register = static_cast<std::uint8_t>(cpu.ra_column);
  rule.ra_is_signed = cpu.signs_return_addresses;  // stripping an unsigned address does not change it
  rule.is_end_of_stack = record.return_address == 0;
  add(rule, numbers.fp, -16);
  add(rule, rule.ra_register, -8);
  return result;
}

}  // namespace mixstack::unwind
