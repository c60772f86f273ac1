#include "features/top/interval_clock.h"

#include <gtest/gtest.h>

namespace mixstack::top {
namespace {

TEST(IntervalClock, IntervalsFollowEachOther) {
  IntervalClock clock(100);
  EXPECT_FALSE(clock.is_over(99));
  EXPECT_TRUE(clock.is_over(100));
  clock.ended(103);
  EXPECT_EQ(clock.next(), 200u) << "a little late: no interval becomes longer for it";
}

TEST(IntervalClock, MissedOnesAreSkipped) {
  IntervalClock clock(100);
  clock.ended(1000);
  EXPECT_EQ(clock.next(), 1050u);
  clock.begin_again(5000);
  EXPECT_EQ(clock.next(), 5100u);
  EXPECT_FALSE(clock.is_worth_showing(5000, 5009));
  EXPECT_TRUE(clock.is_worth_showing(5000, 5010));
}

}  // namespace
}  // namespace mixstack::top
