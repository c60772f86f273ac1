#include "features/record/run_balance.h"

#include <gtest/gtest.h>

#include <random>

namespace mixstack::record {
namespace {

constexpr std::uint64_t kPeriod = 10'000'000;

/// Rounds of 10,000 that count as running, of a thread that runs for `ran` of the time, is ready for the rest, and is
/// found running in `found` of the rounds.
int running_of(double ran, double found) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> chance(0, 1);
  RunBalance balance;
  int running = 0;
  double run_ns = 0;
  for (int i = 0; i < 10'000; i++) {
    run_ns += ran * kPeriod;
    balance.round((static_cast<std::uint64_t>(i) + 1) * kPeriod, static_cast<std::uint64_t>(run_ns));
    if (chance(random) < found) {
      balance.found_running();
      running++;
    } else if (balance.owes_running()) {
      running++;
    }
  }
  return running;
}

TEST(RunBalance, MakesUpForRoundsThatMissedItRunning) {
  EXPECT_NEAR(running_of(0.25, 0.15), 2500, 20);
  EXPECT_NEAR(running_of(0.55, 0.43), 5500, 20);
  EXPECT_NEAR(running_of(0.25, 0), 2500, 20);
}

TEST(RunBalance, LeavesRoundsThatAreRightAsTheyAre) {
  EXPECT_NEAR(running_of(0.5, 0.5), 5000, 150) << "chance alone: 50 at one sigma";
  EXPECT_EQ(running_of(1, 1), 10'000);
  EXPECT_EQ(running_of(0, 0), 0);
}

TEST(RunBalance, AnotherThreadOfTheSameIdOwesNothing) {
  RunBalance balance;
  balance.round(kPeriod, 1'000'000'000);
  balance.round(2 * kPeriod, 5);  // a new one has used less
  EXPECT_FALSE(balance.owes_running());
}

TEST(RunBalance, RoundsThatWereLeftOutWeighNothing) {
  RunBalance balance;
  balance.round(kPeriod, 0);
  balance.round(101 * kPeriod, 100 * kPeriod);  // it ran all the time; this is one round
  EXPECT_TRUE(balance.owes_running());
  EXPECT_FALSE(balance.owes_running());
}

TEST(RunBalance, RoundsThatDidNotTellOfItAreRoundsInWhichItDidNotRun) {
  RunBalance balance;
  balance.round(kPeriod, 0);
  balance.round(10 * kPeriod, kPeriod, 9 * kPeriod);  // all of the last period, and not a ninth
  EXPECT_TRUE(balance.owes_running());
  EXPECT_FALSE(balance.owes_running());
}

}  // namespace
}  // namespace mixstack::record
