#include "output/push/back_off.h"

#include <gtest/gtest.h>

namespace mixstack::push {
namespace {

using fetch_link::FetchOutcome;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(PushVerdictTest, WhatIsTriedAgain) {
  EXPECT_EQ(verdict_of({FetchOutcome::done, 0, 0}), PushVerdict::sent);
  for (const std::uint64_t status : {408u, 429u, 500u, 502u, 503u, 504u, 599u})
    EXPECT_EQ(verdict_of({FetchOutcome::refused, 0, status}), PushVerdict::later) << status;
  for (const std::uint64_t status : {0u, 301u, 302u, 400u, 401u, 403u, 404u, 413u, 415u, 422u})
    EXPECT_EQ(verdict_of({FetchOutcome::refused, 0, status}), PushVerdict::refused) << status;
  for (const FetchOutcome outcome : {FetchOutcome::no_connection, FetchOutcome::no_such_host, FetchOutcome::timed_out,
                                     FetchOutcome::cut_short, FetchOutcome::untrusted, FetchOutcome::garbled,
                                     FetchOutcome::failed, FetchOutcome::fetcher_broken, FetchOutcome::given_up})
    EXPECT_EQ(verdict_of({outcome, 0, 0}), PushVerdict::later) << static_cast<int>(outcome);
  EXPECT_EQ(verdict_of({FetchOutcome::too_large, 0, 0}), PushVerdict::refused);
}

TEST(BackOffTest, TimesGrowWithinBounds) {
  BackOff back_off(1);
  milliseconds whole = BackOff::kFirst;
  for (int i = 0; i < 100; i++) {
    const milliseconds wait = back_off.next(seconds(0));
    EXPECT_GE(wait, whole / 2) << i;
    EXPECT_LE(wait, whole) << i;
    whole = std::min(whole * 2, BackOff::kLongest);
  }
  back_off.reset();
  EXPECT_LE(back_off.next(seconds(0)), BackOff::kFirst);
}

TEST(BackOffTest, TwoOfThemDoNotComeAtOnce) {
  BackOff one(1), other(2);
  int differences = 0;
  for (int i = 0; i < 20; i++) differences += one.next(seconds(0)) != other.next(seconds(0)) ? 1 : 0;
  EXPECT_GT(differences, 10);
}

TEST(BackOffTest, AServerMayAskForMoreButNotForEver) {
  BackOff back_off(1);
  EXPECT_EQ(back_off.next(seconds(77)), seconds(77));
  EXPECT_EQ(back_off.next(seconds(1 << 30)), BackOff::kLongest);
}

}  // namespace
}  // namespace mixstack::push
