#include "agent/standing_threads.h"

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

}  // namespace
}  // namespace mixstack::agent
