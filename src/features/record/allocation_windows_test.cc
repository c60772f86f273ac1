#include "features/record/allocation_windows.h"

#include <gtest/gtest.h>

namespace mixstack::record {
namespace {

TEST(HitCost, IsWhatAHitTookBeyondTheTimeBetweenTwo) {
  HitCost cost;
  EXPECT_FALSE(cost.is_measured());
  // 20,000 rooms a second, one each 50 us; watched, 5 of them took 550 us: 60 us each beyond it.
  for (int i = 0; i < 100; i++) cost.add(550'000, 5, 20'000);
  EXPECT_TRUE(cost.is_measured());
  EXPECT_NEAR(cost.ns(), 60'000, 100);
}

TEST(HitCost, SaysNothingWithoutHits) {
  HitCost cost;
  cost.add(1'000'000, 0, 1000);
  cost.add(1'000'000, 1, 1000);
  cost.add(1'000'000, 5, 0);
  EXPECT_EQ(cost.ns(), HitCost::kAtFirst);
  for (int i = 0; i < 100; i++) cost.add(10, 5, 1e9);
  EXPECT_GE(cost.ns(), HitCost::kLeast);
}

TEST(WindowRule, TakesNoMoreOfAThreadThanItMay) {
  const WindowRule rule;
  for (const double cost : {1e3, 10e3, 60e3}) {
    for (const double rate : {100.0, 1e3, 1e4, 1e5}) {
      const double length = rule.length(rate, cost), between = cost + 1e9 / rate;
      const double lost = length / between * cost / rule.round_ns;
      EXPECT_LE(lost, std::max(rule.most_cost, cost / rule.round_ns) * 1.2 + 60e3 / rule.round_ns) << cost << ' ' << rate;
      EXPECT_LE(length, rule.round_ns);
    }
  }
  // 125,000 rooms a second at 60 us: two hits or so in each 25 ms.
  EXPECT_NEAR(rule.length(125e3, 60e3), 2.08 * 68e3, 5e3);
}

TEST(WindowRule, WhatAllocatesLittleIsWatchedAllTheTime) {
  const WindowRule rule;
  EXPECT_EQ(rule.length(10, 60e3), rule.round_ns);
  EXPECT_EQ(rule.length(0, 60e3), rule.round_ns);
}

TEST(ByteLedger, SharesWhatWasAllocatedSinceTheLastHit) {
  ByteLedger ledger;
  ledger.total(1'000'000);  // counting begins
  EXPECT_EQ(ledger.owed(), 0u);
  ledger.total(1'010'000);
  EXPECT_EQ(ledger.share(0), 0u);
  ledger.total(1'030'001);
  EXPECT_EQ(ledger.share(3), 10'000u);
  EXPECT_EQ(ledger.owed(), 1u);  // the rest goes on
  ledger.total(1'030'000);       // a reading that was torn: nothing is taken back
  EXPECT_EQ(ledger.take(), 1u);
  EXPECT_EQ(ledger.owed(), 0u);
}

TEST(ByteLedger, OfAThreadThatBeganLaterAllCounts) {
  ByteLedger ledger;
  ledger.begin_at_zero();
  ledger.total(8'000);
  EXPECT_EQ(ledger.share(1), 8'000u);
}

TEST(ByteLedger, AShareThatDoesNotFitStaysOwed) {
  ByteLedger ledger;
  ledger.begin_at_zero();
  ledger.total(std::uint64_t{10} << 30);
  EXPECT_EQ(ledger.share(1), UINT32_MAX);
  EXPECT_EQ(ledger.owed(), (std::uint64_t{10} << 30) - UINT32_MAX);
}

}  // namespace
}  // namespace mixstack::record
