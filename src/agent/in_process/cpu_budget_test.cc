#include "agent/in_process/cpu_budget.h"

#include <gtest/gtest.h>

namespace mixstack::agent {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

TEST(CpuBudget, TooMuchHalvesAndLittleGrowsBack) {
  CpuBudget budget(16);
  std::uint64_t now = kSecond, cpu = 0;
  budget.look(now, cpu);
  EXPECT_EQ(budget.allowed(), 16u);
  for (const unsigned expected : {8u, 4u, 2u, 1u, 1u}) {
    budget.look(now += kSecond, cpu += kSecond / 20);
    EXPECT_EQ(budget.allowed(), expected);
  }
  budget.look(now += kSecond, cpu += kSecond / 50);
  EXPECT_EQ(budget.allowed(), 1u) << "2 %: neither too much nor little";
  for (int i = 0; i < 20; i++) budget.look(now += kSecond, cpu += kSecond / 100);
  EXPECT_EQ(budget.allowed(), 16u);
}

TEST(CpuBudget, OnlyWholePeriodsCount) {
  CpuBudget budget(16);
  budget.look(kSecond, 0);
  budget.look(kSecond + kSecond / 2, kSecond / 2);
  EXPECT_EQ(budget.allowed(), 16u);
}

}  // namespace
}  // namespace mixstack::agent
