#include "agent/in_process/wall_rounds.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

namespace mixstack::agent {
namespace {

std::vector<std::uint32_t> tids(std::uint32_t count) {
  std::vector<std::uint32_t> all(count);
  std::iota(all.begin(), all.end(), 100);
  return all;
}

TEST(WallRounds, EveryThreadOnceARoundAndNeverMoreThanAllowed) {
  WallRounds rounds(1);
  rounds.update(tids(10));
  std::map<std::uint32_t, int> seen;
  for (int tick = 0; tick < 8; tick++) {  // two rounds of 4 ticks: 3, 3, 3, 1
    const auto some = rounds.next(3);
    EXPECT_LE(some.size(), 3u);
    for (const std::uint32_t tid : some) seen[tid]++;
  }
  ASSERT_EQ(seen.size(), 10u);
  for (const auto& [tid, count] : seen) EXPECT_EQ(count, 2) << tid;
}

TEST(WallRounds, RoundsHaveDifferentOrders) {
  WallRounds rounds(1);
  rounds.update(tids(20));
  std::set<std::vector<std::uint32_t>> orders;
  for (int round = 0; round < 5; round++) {
    const auto all = rounds.next(20);
    orders.insert({all.begin(), all.end()});
  }
  EXPECT_EQ(orders.size(), 5u);
}

TEST(WallRounds, ThreadsThatComeAndGoDoNotBeginTheRoundAnew) {
  WallRounds rounds(1);
  rounds.update(tids(6));
  const auto first = rounds.next(3);
  const std::set<std::uint32_t> done(first.begin(), first.end());
  rounds.update(tids(8));  // two new ones
  std::set<std::uint32_t> rest;
  for (int tick = 0; tick < 5; tick++) {
    const auto some = rounds.next(1);
    rest.insert(some.begin(), some.end());
  }
  EXPECT_EQ(rest.size(), 5u);
  for (const std::uint32_t tid : rest) EXPECT_FALSE(done.contains(tid));
  rounds.update({});
  EXPECT_TRUE(rounds.next(4).empty());
}

}  // namespace
}  // namespace mixstack::agent
