#include "engine/unwind/compact_rule.h"

#include <algorithm>
#include <array>
#include <span>

namespace mixstack::unwind {
namespace {

/// Calls `f(register, slot)` for each saved register in ascending register number.
template <class F>
void for_each_saved(const CompactRule& rule, Arch arch, F f) {
  const CompactLayout& layout = kCompactLayouts[arch];
  for (unsigned reg = 0; reg < Registers::kMax; reg++) {
    const int slot = layout.slot_of[reg];
    if (slot >= 0 && rule.slots[static_cast<std::size_t>(slot)] != 0)
      f(reg, rule.slots[static_cast<std::size_t>(slot)]);
  }
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

std::uint64_t hash_of(const CompactRule& rule) {
  // The identity of a rule is what lies before the derived fields.
  std::array<std::uint64_t, offsetof(CompactRule, saved) / sizeof(std::uint64_t)> words{};
  std::memcpy(words.data(), &rule, sizeof(words));
  std::uint64_t h = static_cast<std::uint64_t>(rule.origin);
  for (const std::uint64_t w : words) h = (h ^ w) * 0x9e3779b97f4a7c15u ^ h >> 29;
  return h ^ h >> 32;
}

std::optional<CompactRule> compact(const UnwindRule& rule, Arch arch) {
  const CompactLayout& layout = kCompactLayouts[arch];
  const bool is_plain = layout.ra != 0 && rule.cfa_kind == CfaKind::register_offset &&
                        rule.ra_register == layout.ra_column && rule.trust == Trust::certain && !rule.is_signal_frame &&
                        !rule.is_end_of_stack;
  if (!is_plain || rule.count > UnwindRule::kMaxRules) return std::nullopt;
  CompactRule out;
  out.kind = CompactKind::register_offset;
  out.cfa_register = rule.cfa_register;
  out.cfa_offset = rule.cfa_offset;
  out.origin = rule.origin;
  if (rule.ra_is_signed) out.flags |= CompactRule::kRaSigned;
  for (const RegisterRule& r : std::span(rule.rules).first(rule.count)) {
    const int slot = r.reg < Registers::kMax ? layout.slot_of[r.reg] : -1;
    const bool fits = r.kind == RegisterRuleKind::at_cfa_offset && r.value < 0 && r.value >= -0xffff;
    if (slot < 0 || !fits) return std::nullopt;
    out.slots[static_cast<std::size_t>(slot)] = static_cast<std::uint16_t>(-r.value);
  }
  if (layout.pushed_ra != 0 && out.slots[layout.ra] != layout.pushed_ra) return std::nullopt;
  derive(out, arch);
  return out;
}

UnwindRule expand(const CompactRule& rule, Arch arch) {
  UnwindRule out;
  out.origin = rule.origin;
  out.ra_register = kCompactLayouts[arch].ra_column;
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
