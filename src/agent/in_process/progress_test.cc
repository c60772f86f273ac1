#include "agent/in_process/progress.h"

#include <gtest/gtest.h>

#include <memory>

namespace mixstack::agent {
namespace {

TEST(Progress, EverySampleOfAThreadThatGetsOnIsTaken) {
  const auto progress = std::make_unique<Progress>();
  EXPECT_EQ(progress->periods(7, 0x1000, 1), 1u);
  EXPECT_EQ(progress->periods(7, 0x1004, 3), 3u);
  EXPECT_EQ(progress->periods(8, 0x1004, 1), 1u) << "another thread in the same place";
  EXPECT_EQ(progress->periods(7, 0x1000, 1), 1u);
}

TEST(Progress, OneThatStandsIsLetRunAndLosesNoPeriod) {
  const auto progress = std::make_unique<Progress>();
  std::uint32_t counted = 0, taken = 0;
  for (int i = 0; i < 10; i++) {
    const std::uint32_t periods = progress->periods(7, 0x1000, 5);
    counted += periods;
    taken += periods != 0 ? 1 : 0;
  }
  EXPECT_EQ(taken, 5u) << "every other one";
  EXPECT_EQ(counted + 5, 50u) << "the last is still owed";
  EXPECT_EQ(progress->periods(7, 0x2000, 1), 6u);
}

/// Numbers of threads that share a place only forget what is owed.
TEST(Progress, OfThreadsThatShareASlot) {
  const auto progress = std::make_unique<Progress>();
  EXPECT_EQ(progress->periods(7, 0x1000, 1), 1u);
  EXPECT_EQ(progress->periods(7 + 1024, 0x1000, 1), 1u);
  EXPECT_EQ(progress->periods(7, 0x1000, 1), 1u);
}

}  // namespace
}  // namespace mixstack::agent
