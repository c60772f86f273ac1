#include "engine/unwind/compact_rule.h"

#include <gtest/gtest.h>

namespace mixstack::unwind {
namespace {

CompactRule managed_rule(Arch arch) {
  CompactRule rule;
  rule.kind = CompactKind::register_offset;
  rule.cfa_register = static_cast<std::uint8_t>(arch_registers(arch).fp);
  rule.cfa_offset = 16;
  rule.origin = StepperId::managed;
  rule.slots[0] = 16;
  rule.slots[3] = 40;
  rule.slots[kCompactLayouts[arch].ra] = 8;
  derive(rule, arch);
  return rule;
}

TEST(CompactRule, TheGeneralFormHasTheSameCompactForm) {
  for (const Arch arch : {Arch::x86_64, Arch::aarch64}) {
    const CompactRule rule = managed_rule(arch);
    const auto again = compact(expand(rule, arch), arch);
    ASSERT_TRUE(again.has_value());
    EXPECT_TRUE(again->same_rule(rule));
    EXPECT_EQ(again->saved, rule.saved);
    EXPECT_EQ(again->depth, rule.depth);
    EXPECT_EQ(hash_of(*again), hash_of(rule));
  }
}

TEST(CompactRule, ALinkRegisterMayStillHoldTheReturnAddress) {
  CompactRule leaf = managed_rule(Arch::aarch64);
  leaf.slots = {};
  leaf.flags = CompactRule::kRaSigned;
  derive(leaf, Arch::aarch64);
  const auto again = compact(expand(leaf, Arch::aarch64), Arch::aarch64);
  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(again->same_rule(leaf));
}

TEST(CompactRule, WhatNeedsMoreHasNone) {
  const UnwindRule fits = expand(managed_rule(Arch::x86_64), Arch::x86_64);
  ASSERT_TRUE(compact(fits, Arch::x86_64).has_value());
  const auto refused = [&](auto change) {
    UnwindRule rule = fits;
    change(rule);
    return !compact(rule, Arch::x86_64).has_value();
  };
  EXPECT_TRUE(refused([](UnwindRule& r) { r.cfa_kind = CfaKind::deref_register_offset; }));
  EXPECT_TRUE(refused([](UnwindRule& r) { r.is_signal_frame = true; }));
  EXPECT_TRUE(refused([](UnwindRule& r) { r.is_end_of_stack = true; }));
  EXPECT_TRUE(refused([](UnwindRule& r) { r.trust = Trust::prologue; }));
  EXPECT_TRUE(refused([](UnwindRule& r) { r.ra_register = x86_64_reg::rbx; }));
  EXPECT_TRUE(refused([](UnwindRule& r) { r.rules[0].kind = RegisterRuleKind::at_register_offset; }));
  EXPECT_TRUE(refused([](UnwindRule& r) { r.rules[0].value = -0x10000; }));
  EXPECT_TRUE(refused([](UnwindRule& r) { r.rules[0].value = 8; }));
  EXPECT_TRUE(refused([](UnwindRule& r) { r.rules[0].reg = 17; })) << "xmm0";
  EXPECT_TRUE(refused([](UnwindRule& r) { r.rules[r.count - 1U].value = -16; })) << "the return address lies elsewhere";
  EXPECT_FALSE(compact(fits, Arch::arm).has_value());
}

}  // namespace
}  // namespace mixstack::unwind
