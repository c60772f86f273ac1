#include "session/fair_budget.h"

#include <gtest/gtest.h>

namespace mixstack::session {
namespace {

TEST(FairBudget, TheFirstMayNotTakeEverything) {
  FairBudget budget(1000, 11, 10);
  EXPECT_EQ(budget.next(), 900u);
  budget.took(900);
  for (int i = 0; i < 10; i++) {
    EXPECT_EQ(budget.next(), 10u);
    budget.took(10);
  }
}

TEST(FairBudget, WhatSomeDoNotNeedIsForOthers) {
  FairBudget budget(1000, 3, 10);
  budget.took(1);
  budget.took(1);
  EXPECT_EQ(budget.next(), 998u);
}

TEST(FairBudget, EveryoneGetsTheLeast) {
  FairBudget budget(100, 1000, 10);
  std::size_t all = 0;
  for (int i = 0; i < 1000; i++) {
    ASSERT_EQ(budget.next(), 10u);
    all += budget.next();
    budget.took(budget.next());
  }
  EXPECT_EQ(all, 10'000u);
  EXPECT_EQ(budget.next(), 10u);
}

}  // namespace
}  // namespace mixstack::session
