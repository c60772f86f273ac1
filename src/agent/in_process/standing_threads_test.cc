#include "agent/in_process/standing_threads.h"

#include <gtest/gtest.h>

#include <array>

namespace mixstack::agent {
namespace {

constexpr std::uint32_t kTid = 7;
constexpr unsigned kCall = 2;

/// Interrupted at the 10th run, sampled in a call at 0x1000 that is called again or was cut short.
StandingThreads interrupted_once(bool was_cut_short = false) {
  StandingThreads threads(kCall);
  EXPECT_FALSE(threads.may_stand(kTid, 10)) << "never seen";
  threads.interrupted(kTid, 10);
  EXPECT_FALSE(threads.may_stand(kTid, 11)) << "the sample is not here yet";
  threads.sampled(kTid, {was_cut_short ? Address{0x1002} : Address{0x1000}, 0x7000, was_cut_short});
  return threads;
}

TEST(StandingThreads, OneThatWentBackToItsCallIsNotInterruptedAgain) {
  for (const bool was_cut_short : {false, true}) {
    StandingThreads threads = interrupted_once(was_cut_short);
    EXPECT_TRUE(threads.may_stand(kTid, 11));
    EXPECT_FALSE(threads.stands(kTid, 500)) << "not yet";
    EXPECT_TRUE(threads.confirm(kTid, {0x1002, 0x7000}, 500));
    EXPECT_TRUE(threads.stands(kTid, 500));
    EXPECT_FALSE(threads.stands(kTid, 501)) << "it has run";
    EXPECT_FALSE(threads.stands(kTid, 0)) << "it is gone";
    threads.interrupted(kTid, 12);
    EXPECT_FALSE(threads.stands(kTid, 500)) << "its new sample counts";
  }
}

TEST(StandingThreads, OneThatRanIsSampled) {
  const StandingThreads threads = interrupted_once();
  EXPECT_FALSE(threads.may_stand(kTid, 12)) << "once more than for the handler";
  EXPECT_FALSE(threads.may_stand(kTid, 10)) << "the signal is still on its way";
}

TEST(StandingThreads, OneThatWaitsElsewhereIsSampled) {
  for (const WaitPlace& place : {WaitPlace{0x2002, 0x7000}, WaitPlace{0x1002, 0x7010}, WaitPlace{0x1000, 0x7000}}) {
    StandingThreads threads = interrupted_once();
    EXPECT_FALSE(threads.confirm(kTid, place, 500));
    EXPECT_FALSE(threads.stands(kTid, 500));
  }
}

/// Its call ended by itself before the signal: at the same place it may be called from elsewhere.
TEST(StandingThreads, ACallThatEndedByItselfProvesNothing) {
  StandingThreads threads(kCall);
  threads.interrupted(kTid, 10);
  threads.sampled(kTid, {0x1002, 0x7000, false});
  EXPECT_FALSE(threads.confirm(kTid, {0x1002, 0x7000}, 500));
}

TEST(StandingThreads, WithoutACountNothingStands) {
  StandingThreads threads(kCall);
  threads.interrupted(kTid, 0);
  threads.sampled(kTid, {0x1000, 0x7000, false});
  EXPECT_FALSE(threads.may_stand(kTid, 0));
  EXPECT_FALSE(threads.may_stand(kTid, 1));
  EXPECT_FALSE(threads.confirm(kTid, {0x1002, 0x7000}, 500));
}

/// Numbers of threads are used again.
TEST(StandingThreads, ThoseThatAreGoneAreForgotten) {
  StandingThreads threads = interrupted_once();
  EXPECT_TRUE(threads.confirm(kTid, {0x1002, 0x7000}, 500));
  threads.update(std::array<std::uint32_t, 1>{8});
  EXPECT_FALSE(threads.stands(kTid, 500));
}

using Time = StandingThreads::Time;
using std::chrono::milliseconds;
constexpr Time kNow{std::chrono::hours(1)};

/// It stands, and its stack of so many frames is in doubt: walked when `knowledge` was what was known.
void stand_in_doubt(StandingThreads& threads, std::uint64_t runs, std::uint32_t frames, std::uint64_t knowledge) {
  threads.interrupted(kTid, runs);
  threads.sampled(kTid, {0x1000, 0x7000, false, true, frames, knowledge});
  ASSERT_TRUE(threads.may_stand(kTid, runs + 1));
  ASSERT_TRUE(threads.confirm(kTid, {0x1002, 0x7000}, 500));
}

TEST(StandingThreads, AStackInDoubtIsLookedAtAgainWhenMoreIsKnown) {
  StandingThreads threads(kCall);
  EXPECT_FALSE(threads.looks_again(kTid, 1, kNow)) << "never seen";
  stand_in_doubt(threads, 10, 20, 3);
  EXPECT_FALSE(threads.looks_again(kTid, 3, kNow)) << "nothing was learned";
  EXPECT_TRUE(threads.looks_again(kTid, 4, kNow));
  stand_in_doubt(threads, 11, 30, 4);
  EXPECT_FALSE(threads.looks_again(kTid, 4, kNow)) << "nothing was learned since";
  EXPECT_TRUE(threads.looks_again(kTid, 5, kNow)) << "the last look showed more: at once";
  threads.interrupted(kTid, 12);
  threads.sampled(kTid, {0x1000, 0x7000, false, false, 40, 5});
  EXPECT_TRUE(threads.confirm(kTid, {0x1002, 0x7000}, 500));
  EXPECT_FALSE(threads.looks_again(kTid, 9, kNow)) << "nothing in doubt any more";
}

TEST(StandingThreads, LooksThatShowNoMoreComeAfterPausesThatDoubleAndAreOverOnce) {
  StandingThreads threads(kCall);
  stand_in_doubt(threads, 10, 20, 0);
  Time now = kNow;
  for (unsigned look = 0; look < StandingThreads::kMostVainLooks; look++) {
    const milliseconds pause = StandingThreads::kFirstPause * (1 << look);
    ASSERT_TRUE(threads.looks_again(kTid, look + 1, now)) << look;
    stand_in_doubt(threads, 11 + look, 20, look + 1);
    EXPECT_FALSE(threads.looks_again(kTid, look + 2, now + pause - milliseconds(1))) << look;
    now += pause;
  }
  EXPECT_FALSE(threads.looks_again(kTid, 99, now + std::chrono::hours(10)));
  threads.forget(kTid);
  stand_in_doubt(threads, 40, 20, 0);
  EXPECT_TRUE(threads.looks_again(kTid, 99, now)) << "it has run";
}

TEST(StandingThreads, OneThatRanByItselfBeginsAnew) {
  StandingThreads threads(kCall);
  stand_in_doubt(threads, 10, 20, 0);
  ASSERT_TRUE(threads.looks_again(kTid, 1, kNow));
  stand_in_doubt(threads, 11, 20, 1);
  EXPECT_FALSE(threads.looks_again(kTid, 2, kNow)) << "the pause";
  stand_in_doubt(threads, 30, 20, 1);
  EXPECT_TRUE(threads.looks_again(kTid, 2, kNow));
}

}  // namespace
}  // namespace mixstack::agent
