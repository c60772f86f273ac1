#include "process/live/stack_plan.h"

#include <gtest/gtest.h>

#include "process/kernel/memory_map.h"

namespace mixstack::process {
namespace {

constexpr std::size_t kInitial = 0x1000;

const std::vector<Region>& regions() {
  static const auto list = parse_memory_map(
      "100000-200000 rw-p 00000000 00:00 0 [heap]\n"
      "300000-301000 ---p 00000000 00:00 0 \n"
      "301000-309000 rw-p 00000000 00:00 0 \n"
      "309000-30a000 ---p 00000000 00:00 0 \n"
      "30a000-310000 rw-p 00000000 00:00 0 \n"
      "310000-320000 rw-p 00000000 00:00 0 \n"
      "320000-330000 rw-p 00000000 fe:01 7 /lib/x\n"
      "700000-900000 rw-p 00000000 00:00 0 [stack]\n");
  return list;
}

std::vector<StackCopy> plan(std::vector<StackCopy> copies, std::size_t budget = 1 << 20) {
  std::vector<std::size_t> order;
  plan_stacks(copies, regions(), kInitial, budget, order);
  return copies;
}

TEST(StackPlan, AStackEndsBelowItsThreadsControlBlockOrWithItsMapping) {
  EXPECT_EQ(stack_extent(regions(), 0x302000, 0x308f00), (AddressRange{0x301000, 0x308f00}));
  EXPECT_EQ(stack_extent(regions(), 0x302000, 0), (AddressRange{0x301000, 0x309000}));
  EXPECT_EQ(stack_extent(regions(), 0x302000, 0x302000 - 8), (AddressRange{0x301000, 0x309000}));
  EXPECT_EQ(stack_extent(regions(), 0x302000, 0x30b000), (AddressRange{0x301000, 0x309000})) << "not across a guard";
  EXPECT_EQ(stack_extent(regions(), 0x30b000, 0x318000), (AddressRange{0x30a000, 0x318000})) << "a split mapping";
  EXPECT_EQ(stack_extent(regions(), 0x30b000, 0x328000), (AddressRange{0x30a000, 0x310000})) << "not into a file";
  EXPECT_TRUE(stack_extent(regions(), 0x400000, 0).empty());
}

TEST(StackPlan, TheHomeStackOfAThread) {
  EXPECT_EQ(home_stack(regions(), true, 0x150000), (AddressRange{0x700000, 0x900000}));
  EXPECT_EQ(home_stack(regions(), false, 0x308f00), (AddressRange{0x301000, 0x308f00}));
  EXPECT_TRUE(home_stack(regions(), false, 0).empty());
  EXPECT_TRUE(home_stack({}, true, 0).empty());
}

TEST(StackPlan, ShortStacksAreCopiedFromTheRedZoneToTheirEnd) {
  const auto c = plan({{0x308c00, 0x308f00}});
  EXPECT_EQ(c[0].begin, 0x308c00u - kRedZone);
  EXPECT_EQ(c[0].begin + c[0].size, 0x308f00u);
  EXPECT_FALSE(c[0].truncated);
  EXPECT_EQ(plan({{0x301010, 0x308f00}})[0].begin, 0x301000u) << "not below the mapping";
}

TEST(StackPlan, LongStacksAreCompletedShortestFirstUntilTheBudgetIsUsed) {
  const auto all = plan({{0x700080, 0}, {0x302080, 0x309000 - 0x10}});
  EXPECT_EQ(all[1].size, 0x7000u - 0x10);
  EXPECT_FALSE(all[1].truncated);
  EXPECT_TRUE(all[0].truncated) << "2 MiB do not fit into 1 MiB";
  EXPECT_EQ(all[0].size + all[1].size, 2 * kInitial + (1 << 20));
  const auto none = plan({{0x700080, 0}, {0x302080, 0x309000 - 0x10}}, 0);
  EXPECT_EQ(none[0].size, kInitial);
  EXPECT_EQ(none[1].size, kInitial);
  EXPECT_TRUE(none[0].truncated && none[1].truncated);
}

TEST(StackPlan, StacksWhoseEndNobodyKnowsAreNotCompleted) {
  const auto c = plan({{0x150000, 0}, {0x400000, 0}, {0x302080, 0x318000}});
  EXPECT_EQ(c[2].size, kInitial) << "a fiber's stack, in a mapping with others";
  EXPECT_TRUE(c[2].truncated);
  EXPECT_EQ(c[0].size, kInitial);
  EXPECT_TRUE(c[0].truncated);
  EXPECT_EQ(c[1].size, kInitial);
  EXPECT_EQ(c[1].stack_end, 0u);
}

TEST(StackPlan, FindsTheLowestPointerIntoAnotherStack) {
  const std::uint64_t words[] = {0x301000, 0x305008, 7, 0x305000, 0x306000, 0x309000};
  const MemorySlice stack{0x1000, std::as_bytes(std::span(words))};
  const AddressRange other{0x301000, 0x309000};
  EXPECT_EQ(lowest_pointer_into(stack, 0x1000, other), 0x301000u);
  EXPECT_EQ(lowest_pointer_into(stack, 0x1001, other), 0x305000u) << "words below sp do not count";
  EXPECT_EQ(lowest_pointer_into(stack, 0x1028, other), 0u);
  EXPECT_EQ(lowest_pointer_into({}, 0, other), 0u);
}

}  // namespace
}  // namespace mixstack::process
