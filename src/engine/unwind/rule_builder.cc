#include "engine/unwind/rule_builder.h"

#include <bit>
#include <limits>

namespace mixstack::unwind {
namespace {

bool fits(std::int64_t v) {
  return v >= std::numeric_limits<std::int32_t>::min() && v <= std::numeric_limits<std::int32_t>::max();
}

}  // namespace

bool RuleBuilder::add_rules(UnwindRule& rule, bool cfa_is_register, Place cfa) const {
  for (std::uint64_t left = saved_; left != 0; left &= left - 1) {
    const auto reg = static_cast<unsigned>(std::countr_zero(left));
    if (rule.count >= UnwindRule::kMaxRules) return false;
    const Place where{bases_[reg], offsets_[reg]};
    RegisterRule& r = rule.rules[rule.count++];
    r.reg = static_cast<std::uint8_t>(reg);
    std::int64_t value = where.offset;
    if (cfa_is_register && where.base == cfa.base) {
      r.kind = RegisterRuleKind::at_cfa_offset;
      value -= cfa.offset;
    } else {
      r.kind = RegisterRuleKind::at_register_offset;
      r.base = where.base;
    }
    if (!fits(value)) return false;
    r.value = static_cast<std::int32_t>(value);
  }
  return true;
}

// Both build the rule where it is returned: it is large, and this is every managed frame's path.
Result<UnwindRule> RuleBuilder::finish(Place cfa, unsigned ra_register, StepperId origin, Trust trust) const {
  Result<UnwindRule> result(tl::in_place);
  UnwindRule& rule = *result;
  rule.cfa_kind = CfaKind::register_offset;
  rule.cfa_register = cfa.base;
  rule.cfa_offset = static_cast<std::int32_t>(cfa.offset);
  rule.ra_register = static_cast<std::uint8_t>(ra_register);
  rule.origin = origin;
  rule.trust = trust;
  if (!fits(cfa.offset) || !add_rules(rule, true, cfa)) result = fail(ErrorCode::malformed);
  return result;
}

Result<UnwindRule> RuleBuilder::finish_interrupted(Place sp_slot, unsigned ra_register, StepperId origin) const {
  Result<UnwindRule> result(tl::in_place);
  UnwindRule& rule = *result;
  rule.cfa_kind = CfaKind::deref_register_offset;
  rule.cfa_register = sp_slot.base;
  rule.cfa_offset = static_cast<std::int32_t>(sp_slot.offset);
  rule.ra_register = static_cast<std::uint8_t>(ra_register);
  rule.is_signal_frame = true;
  rule.origin = origin;
  if (!fits(sp_slot.offset) || !add_rules(rule, false, sp_slot)) result = fail(ErrorCode::malformed);
  return result;
}

}  // namespace mixstack::unwind
