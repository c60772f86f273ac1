#include "features/record/real_time_turn.h"

#include <gtest/gtest.h>

#include <thread>

namespace mixstack::record {
namespace {

int policy() { return ::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK; }

/// In a thread of its own: it is changed.
template <class Body>
void in_a_thread(Body body) {
  std::thread(body).join();
}

bool may_have_one() {
  bool may = false;
  in_a_thread([&may] {
    sched_param priority{.sched_priority = 1};
    may = ::sched_setscheduler(0, SCHED_RR, &priority) == 0;
  });
  return may;
}

TEST(RealTimeTurn, IsHadWhereItMayBeAndGivenBack) {
  const bool may = may_have_one();
  in_a_thread([may] {
    RealTimeTurn turn;
    EXPECT_EQ(policy(), SCHED_OTHER);
    for (int i = 0; i < 2; i++) {
      turn.want(true);
      EXPECT_EQ(policy(), may ? SCHED_RR : SCHED_OTHER);
      sched_param priority{};
      ::sched_getparam(0, &priority);
      EXPECT_EQ(priority.sched_priority, may ? 1 : 0) << "the least";
      turn.want(false);
      EXPECT_EQ(policy(), SCHED_OTHER);
    }
  });
}

TEST(RealTimeTurn, WhatWasChosenStays) {
  in_a_thread([] {
    const sched_param priority{};
    ASSERT_EQ(::sched_setscheduler(0, SCHED_BATCH, &priority), 0);
    RealTimeTurn turn;
    for (const bool is_short : {true, false, true}) {
      turn.want(is_short);
      EXPECT_EQ(policy(), SCHED_BATCH);
    }
  });
}

}  // namespace
}  // namespace mixstack::record
