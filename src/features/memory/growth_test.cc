#include "features/memory/growth.h"

#include <gtest/gtest.h>

#include <numeric>

#include "mixstack/memory_growth.h"
#include "support/sample_moment.h"

namespace mixstack::memory_use {
namespace {

/// A minute later: 10 MB more of objects, 2 MB fewer of files; 1000 orders more, and another type.
MemoryMoment later() {
  MemoryMoment m = testing::sample_moment();
  m.mark.taken_unix_ns += 60'000'000'000;
  m.mark.runtimes[0].collections = {30, 9, 4};
  m.account->lines[0].resident += 10'000'000;
  m.account->lines[1].resident -= 2'000'000;
  m.account->resident += 8'000'000;
  m.heaps[0].types[0] = testing::sample_type(0x7f1000, "Shop.Order", 2000, 64'000);
  m.heaps[0].types.push_back(testing::sample_type(0x7f3000, "Shop.Quote", 100, 2'400));
  testing::sum_up(m.heaps[0]);
  return m;
}

const TypeGrowth& of_type(const MemoryGrowth& g, const std::string& name) {
  for (const TypeGrowth& t : g.types)
    if (t.type == name) return t;
  static const TypeGrowth none;
  return none;
}

TEST(MemoryGrowth, LabelsAddUpAndStandByGrowth) {
  const MemoryGrowth g = growth_of(testing::sample_moment(), later());
  EXPECT_TRUE(g.is_same_process);
  EXPECT_EQ(g.between, std::chrono::nanoseconds(std::chrono::minutes(1)));
  ASSERT_EQ(g.labels.size(), 4u);
  EXPECT_EQ(g.labels.front().kind, MemoryKind::gc_objects);
  EXPECT_EQ(g.labels.front().grown(), 10'000'000);
  EXPECT_EQ(g.labels.back().grown(), -2'000'000);
  std::int64_t sum = 0;
  for (const LabelGrowth& l : g.labels) sum += l.grown();
  EXPECT_EQ(sum, static_cast<std::int64_t>(g.resident_after - g.resident_before));
  EXPECT_EQ(g.collections, (std::vector<std::uint64_t>{10, 3, 2}));
}

TEST(MemoryGrowth, TypesByName) {
  const MemoryGrowth g = growth_of(testing::sample_moment(), later());
  ASSERT_TRUE(g.has_types);
  EXPECT_TRUE(g.is_exact);
  EXPECT_EQ(g.types.front().type, "Shop.Order");
  EXPECT_EQ(g.types.front().objects_after - g.types.front().objects_before, 1000u);
  EXPECT_EQ(of_type(g, "Shop.Quote").objects_before, 0u);
  EXPECT_EQ(of_type(g, "Shop.Quote").objects_after, 100u);
  EXPECT_EQ(g.kept_seen, 0u);
  EXPECT_FALSE(g.types.front().kept);
}

TEST(MemoryGrowth, WhatFullCollectionsHaveLeftStandsFirst) {
  KeptObjects kept;
  kept.collections = 3;
  kept.first = kept.last = testing::sample_moment().heaps;
  kept.first[0].types = {testing::sample_type(0x7f1000, "Shop.Order", 1000, 32'000)};
  kept.last[0].types = {testing::sample_type(0x7f1000, "Shop.Order", 1000, 32'000),
                        testing::sample_type(0x7f3000, "Shop.Quote", 90, 2'160)};
  const MemoryGrowth g = growth_between(testing::sample_moment(), later(), &kept);
  EXPECT_EQ(g.kept_seen, 3u);
  EXPECT_EQ(g.types.front().type, "Shop.Quote");  // the orders grew, but all that is more of them may be garbage
  EXPECT_EQ(g.types.front().kept_grown(), 2'160);
  EXPECT_EQ(of_type(g, "Shop.Order").kept_grown(), 0);
}

TEST(MemoryGrowth, AnotherProcess) {
  MemoryMoment other = later();
  other.mark.started++;
  const MemoryGrowth g = growth_of(testing::sample_moment(), other);
  EXPECT_FALSE(g.is_same_process);
  EXPECT_TRUE(g.collections.empty());
  EXPECT_FALSE(g.forecast);
  EXPECT_TRUE(g.next.empty());
  // The types without a name are two: nothing says that they are the same.
  std::size_t nameless = 0;
  for (const TypeGrowth& t : g.types) nameless += !t.is_free && t.type.empty() ? 1 : 0;
  EXPECT_EQ(nameless, 2u);
}

TEST(MemoryGrowth, WhatIsNotExactIsSaid) {
  MemoryMoment torn = later();
  torn.heaps[0].is_exact = false;
  torn.heaps[0].why_not = "it is so";
  const MemoryGrowth g = growth_of(testing::sample_moment(), torn);
  EXPECT_FALSE(g.is_exact);
  EXPECT_EQ(g.why_not, "of the second moment: it is so");
  torn.heaps[0].types.clear();
  EXPECT_FALSE(growth_of(testing::sample_moment(), torn).has_types);
}

TEST(MemoryGrowth, WhenTheLimitIsReached) {
  const MemoryGrowth g = growth_of(testing::sample_moment(), later());
  ASSERT_TRUE(g.forecast);
  EXPECT_EQ(g.forecast->limit, 512'000'000u);
  EXPECT_NEAR(g.forecast->bytes_a_second, 10e6 / 60, 1);  // files are dropped, and count for nothing
  ASSERT_TRUE(g.forecast->left);
  EXPECT_EQ(g.forecast->left->count(), 448 * 6);
  const MemoryGrowth back = growth_of(later(), testing::sample_moment());
  EXPECT_FALSE(back.forecast);  // the second is the earlier one
}

TEST(MemoryGrowth, OfCores) {
  MemoryMoment before = testing::sample_moment(), after = later();
  for (MemoryMoment* m : {&before, &after}) {
    m->account.reset();
    m->core_path = "core.4711";
    m->mark.started = 0;
    m->mark.is_time_of_file = true;
  }
  const MemoryGrowth g = growth_of(before, after);
  EXPECT_FALSE(g.has_account);
  EXPECT_TRUE(g.has_types);
  EXPECT_TRUE(g.labels.empty());
}

}  // namespace
}  // namespace mixstack::memory_use
