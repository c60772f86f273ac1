#include "engine/unwind/row_store.h"

#include <gtest/gtest.h>

namespace mixstack::unwind {
namespace {

CompactRule rule_with(std::int32_t cfa_offset) {
  CompactRule rule;
  rule.kind = CompactKind::register_offset;
  rule.cfa_register = x86_64_reg::rsp;
  rule.cfa_offset = cfa_offset;
  rule.slots[kCompactLayouts.x86_64.ra] = 8;
  return rule;
}

std::vector<CompiledRow> rows(std::size_t count, std::uint32_t step, std::int32_t first = 8) {
  std::vector<CompiledRow> out;
  for (std::size_t i = 0; i < count; i++)
    out.push_back({static_cast<std::uint32_t>(i) * step, rule_with(first + 8 * static_cast<std::int32_t>(i % 50))});
  return out;
}

TEST(RowStore, FindsTheRowOfEveryOffset) {
  for (const std::size_t count : {1u, 2u, 7u, 126u, 127u, 128u, 1000u}) {
    for (const std::uint32_t step : {1u, 16u, 1000u}) {  // the last one makes wide rows
      RowStore store(Arch::x86_64, 1 << 20);
      const auto all = rows(count, step);
      const auto size = static_cast<std::uint32_t>(count) * step;
      const RowRun run = store.add(all, size);
      ASSERT_NE(run.word(), RowRun::kNotCompiled);
      EXPECT_EQ(run.is_wide(), size > 0xffff);
      for (std::size_t i = 0; i < count; i++) {
        EXPECT_EQ(store.find(run, i * step).cfa_offset, all[i].rule.cfa_offset);
        EXPECT_EQ(store.find(run, i * step + step - 1).cfa_offset, all[i].rule.cfa_offset);
      }
      for (const std::uint64_t beyond : {std::uint64_t{size}, std::uint64_t{size} + 1, std::uint64_t{0x10000} + size,
                                         std::uint64_t{1} << 32, ~std::uint64_t{0}})
        EXPECT_EQ(store.find(run, beyond).kind, CompactKind::none) << beyond;
    }
  }
}

TEST(RowStore, EqualRulesAreStoredOnce) {
  RowStore store(Arch::x86_64, 1 << 20);
  (void)store.add(rows(40, 4), 1000);
  const auto before = store.rule_count();
  (void)store.add(rows(40, 4), 1000);
  EXPECT_EQ(store.rule_count(), before);
  EXPECT_EQ(before, 42u);
  EXPECT_EQ(store.row_count(), 80u);
}

TEST(RowStore, MoreRulesThanNumbers) {
  RowStore store(Arch::x86_64, 64 << 20);
  for (int i = 0; i < 70000; i++) {
    const std::vector<CompiledRow> one{{0, rule_with(8 * i)}};
    const RowRun run = store.add(one, 16);
    ASSERT_NE(run.word(), RowRun::kNotCompiled);
    const auto& found = store.find(run, 3);
    if (i < 65000) {
      ASSERT_EQ(found.cfa_offset, 8 * i);
    } else if (found.kind != CompactKind::interpret) {
      ASSERT_EQ(found.cfa_offset, 8 * i);
    }
  }
  EXPECT_EQ(store.rule_count(), 65536u);
}

TEST(RowStore, FullStoreSaysSo) {
  RowStore store(Arch::x86_64, 0);  // the smallest: two chunks of 16384 words
  bool full = false;
  for (int i = 0; i < 50 && !full; i++) full = store.add(rows(1000, 4), 4000).word() == RowRun::kNotCompiled;
  EXPECT_TRUE(full);
  EXPECT_EQ(store.add(rows(20000, 1), 20000).word(), RowRun::kNotCompiled) << "longer than a chunk";
}

TEST(RowStore, DerivedFields) {
  CompactRule rule = rule_with(64);
  rule.slots[1] = 16;  // rbx
  rule.slots[5] = 56;  // r15
  derive(rule, Arch::x86_64);
  EXPECT_EQ(rule.depth, 56u);
  EXPECT_EQ(rule.saved, 1u << x86_64_reg::rbx | 1u << x86_64_reg::r15 | 1u << x86_64_reg::rip);
}

}  // namespace
}  // namespace mixstack::unwind
