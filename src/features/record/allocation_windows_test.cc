#include "features/record/allocation_windows.h"

#include <gtest/gtest.h>

namespace mixstack::record {
namespace {

TEST(HitCost, IsWhatAHitTakesInPlace) {
  HitCost cost;
  cost.set_own(5e3);
  EXPECT_EQ(cost.ns(), 5e3);
  // 100,000 rooms a second, one each 10 us; watched, one each 30 us. Once the thread did not run.
  for (int i = 0; i < 100; i++) {
    std::vector<double> between{30e3, 29e3, 31e3, 4e6};
    cost.add(between, 100e3);
  }
  EXPECT_NEAR(cost.ns(), 20e3, 100);
}

TEST(HitCost, IsNotLearntFromThreadsThatAllocateLittle) {
  HitCost cost;
  cost.set_own(5e3);
  for (int i = 0; i < 100; i++) {
    std::vector<double> rare{1e6, 1e6, 1e6}, one{30e3};
    cost.add(rare, 1e3);
    cost.add(one, 100e3);
  }
  EXPECT_EQ(cost.ns(), 5e3);
  cost.set_own(1);
  EXPECT_EQ(cost.ns(), HitCost::kLeast);
}

TEST(WindowRule, TakesNoMoreOfAThreadThanItMay) {
  const WindowRule rule;
  for (const double cost : {1e3, 10e3, 60e3, 120e3}) {
    for (const double rate : {100.0, 1e3, 1e4, 1e5}) {
      const double length = rule.length(rate, cost), hits = length * rate / 1e9;
      EXPECT_LE(hits * cost, std::max(rule.most_cost * rule.round_ns, cost) + 1) << cost << ' ' << rate;
      EXPECT_LE(hits, rule.most_hits + 1e-6);
      EXPECT_TRUE(length == rule.round_ns || length <= rule.longest) << cost << ' ' << rate;
    }
  }
  EXPECT_NEAR(rule.length(125e3, 60e3), 2.083 / 125e3 * 1e9, 10);  // two hits or so in each 25 ms
}

TEST(WindowRule, WhatAllocatesLittleIsWatchedAllTheTime) {
  const WindowRule rule;
  EXPECT_EQ(rule.length(10, 60e3), rule.round_ns);
  EXPECT_EQ(rule.length(0, 60e3), rule.round_ns);
}

/// A thread of rounds in which it allocates much half of the time, and little in the other half.
TEST(ByteLedger, WhatAllocatesMuchWeighsMuch) {
  constexpr double kCost = 20e3, kLength = 40e3, kRoom = 8192, kFast = 4e3, kSlow = 40e3;  // ns from room to room
  constexpr int kRounds = 4000;
  ByteLedger ledger;
  ledger.total(0);
  std::uint64_t all = 0, fast_bytes = 0, slow_bytes = 0;
  for (int round = 0; round < kRounds; round++) {
    const bool is_fast = round * 7 % 10 < 5;
    const double between = is_fast ? kFast : kSlow;
    // Between two windows both kinds alternate quickly: only the window is of one kind.
    all += static_cast<std::uint64_t>((12.5e6 / kFast + 12.5e6 / kSlow) * kRoom);
    ledger.total(all);
    std::uint64_t hits = 0;
    for (double at = between * (round % 100) / 100; own_time(at, hits, kCost) <= kLength; at += between + kCost) hits++;
    const double events = 25e6 / kLength;
    ledger.saw(hits, events);
    for (std::uint64_t i = 0; i < hits; i++) (is_fast ? fast_bytes : slow_bytes) += ledger.weight(events);
  }
  const double share = static_cast<double>(fast_bytes) / static_cast<double>(fast_bytes + slow_bytes);
  EXPECT_NEAR(share, kSlow / (kSlow + kFast), 0.02);
  EXPECT_NEAR(static_cast<double>(fast_bytes + slow_bytes), static_cast<double>(all), 0.02 * static_cast<double>(all));
}

/// Rounds of 15 us; one of five makes five rooms at once, the others one. The hits of a burst take as long as the
/// window.
TEST(OwnTime, BurstsAreCountedAsOftenAsSingleRooms) {
  constexpr double kCost = 20e3, kLength = 100e3, kRound = 15e3, kInBurst = 1e3;
  std::uint64_t burst = 0, single = 0, all_burst = 0, all_single = 0;
  for (std::uint32_t window = 0; window < 20000; window++) {
    double now = kRound * (window % 100) / 100;
    std::uint64_t hits = 0;
    for (std::uint32_t round = 0; now < 5e6; round++, now += kRound) {
      const bool is_burst = (window * 7919 + round) * 2654435761u % 5 == 0;
      for (int room = 0; room < (is_burst ? 5 : 1); room++, now += kCost + kInBurst) {
        const double since = own_time(now, hits++, kCost) - settling(kCost);
        if (now <= settling(kCost) + kLength) (is_burst ? all_burst : all_single)++;
        if (since >= 0 && since <= kLength) (is_burst ? burst : single)++;
      }
    }
  }
  const auto share = [](std::uint64_t a, std::uint64_t b) {
    return static_cast<double>(a) / static_cast<double>(a + b);
  };
  EXPECT_NEAR(share(burst, single), 5.0 / 9, 0.02);
  EXPECT_LT(share(all_burst, all_single), 0.5);  // by the clock, bursts are cut
}

TEST(ByteLedger, CountsFromTheFirstReading) {
  ByteLedger ledger;
  EXPECT_EQ(ledger.total(1'000'000), 0u);
  EXPECT_EQ(ledger.total(1'010'000), 10'000u);
  EXPECT_EQ(ledger.total(1'009'000), 0u);  // a reading that was torn: nothing is taken back
  EXPECT_EQ(ledger.weight(1), 0u);         // no hit was seen
  EXPECT_EQ(ledger.take(), 10'000u);
  EXPECT_EQ(ledger.owed(), 0);
}

TEST(ByteLedger, OfAThreadThatBeganLaterAllCounts) {
  ByteLedger ledger;
  ledger.begin_at_zero();
  EXPECT_EQ(ledger.total(8'000), 8'000u);
  ledger.saw(1, 1);
  EXPECT_EQ(ledger.weight(1), 10'000u);  // somewhat more, for what is owed
  EXPECT_EQ(ledger.take(), 0u);
}

TEST(ByteLedger, NoShareIsTooLargeForACount) {
  ByteLedger ledger;
  ledger.begin_at_zero();
  ledger.total(std::uint64_t{10} << 30);
  ledger.saw(1, 1);
  EXPECT_EQ(ledger.weight(1), UINT32_MAX);
  EXPECT_GT(ledger.owed(), 6e9);
}

}  // namespace
}  // namespace mixstack::record
