#include "unwind/compact_rule.h"

#include <algorithm>
#include <array>

namespace mixstack::unwind {
namespace {

/// Calls `f(register, slot)` for each saved register in ascending register number.
template <class L, class F>
void for_each_saved(const CompactRule& rule, F f) {
  for (unsigned reg = 0; reg < Registers::kMax; reg++) {
    for (std::size_t i = 0; i < L::kPreserved.size(); i++)
      if (L::kPreserved[i] == reg && rule.slots[i] != 0) f(reg, rule.slots[i]);
    if (L::kRaColumn == reg && rule.slots[L::kRa] != 0) f(reg, rule.slots[L::kRa]);
  }
}

template <class F>
void for_each_saved(const CompactRule& rule, Arch arch, F f) {
  if (arch == Arch::x86_64) for_each_saved<CompactLayout<Arch::x86_64>>(rule, f);
  if (arch == Arch::aarch64) for_each_saved<CompactLayout<Arch::aarch64>>(rule, f);
}

}  // namespace

void derive(CompactRule& rule, Arch arch) {
  rule.saved = 0;
  rule.depth = 0;
  for_each_saved(rule, arch, [&](unsigned reg, std::uint16_t slot) {
    rule.saved |= std::uint64_t{1} << reg;
    rule.depth = std::max<std::uint32_t>(rule.depth, slot);
  });
}

UnwindRule expand(const CompactRule& rule, Arch arch) {
  UnwindRule out;
  out.origin = rule.origin;
  out.ra_register = static_cast<std::uint8_t>(arch == Arch::aarch64 ? CompactLayout<Arch::aarch64>::kRaColumn
                                                                    : CompactLayout<Arch::x86_64>::kRaColumn);
  out.is_end_of_stack = rule.kind == CompactKind::end_of_stack;
  out.cfa_kind = rule.kind == CompactKind::plt ? CfaKind::plt : CfaKind::register_offset;
  out.cfa_register = rule.cfa_register;
  out.cfa_offset = rule.cfa_offset;
  out.plt_step = rule.plt_step;
  out.ra_is_signed = (rule.flags & CompactRule::kRaSigned) != 0;
  for_each_saved(rule, arch, [&](unsigned reg, std::uint16_t slot) {
    out.rules[out.count++] = {static_cast<std::uint8_t>(reg), RegisterRuleKind::at_cfa_offset, 0, 0, -slot};
  });
  if (out.is_end_of_stack) out.rules[out.count++] = {out.ra_register, RegisterRuleKind::undefined, 0, 0, 0};
  return out;
}

}  // namespace mixstack::unwind
