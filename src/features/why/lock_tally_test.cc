#include "features/why/lock_tally.h"

#include <gtest/gtest.h>

namespace mixstack::why {
namespace {

using namespace std::chrono_literals;

/// Threads 1 to `threads`, of which those in `waiters` wait for a monitor that `owner` holds.
ProcessDump look(std::uint32_t threads, const std::vector<std::uint32_t>& waiters, std::uint32_t owner,
                 Address address = 0x1000) {
  ProcessDump dump;
  for (std::uint32_t tid = 1; tid <= threads; tid++) {
    ThreadDump& t = dump.threads.emplace_back();
    t.tid = t.ns_tid = tid;
    t.facts.cpu = 5ms;
    if (std::find(waiters.begin(), waiters.end(), tid) == waiters.end()) continue;
    ThreadWait& wait = t.wait.emplace();
    wait.kind = WaitKind::monitor;
    wait.proof = Proof::recorded;
    wait.object = {address, "Shop.Gate", "of one moment"};
    wait.owners = {owner};
  }
  return dump;
}

std::vector<SlowCause> causes_of(const LockTally& tally, const ProcessDump& dump, std::uint64_t contentions = 0) {
  Counters before, after;
  after.at = before.at + 1s;
  for (Counters* c : {&before, &after}) c->runtimes.emplace_back().contentions = 0;
  after.runtimes[0].contentions = contentions;
  return tally.causes(before, after, dump);
}

TEST(LockTally, ALockThatChangesHandsAndIsAlwaysWanted) {
  LockTally tally;
  for (std::uint32_t i = 0; i < 5; i++) {
    std::vector<std::uint32_t> waiters;
    for (std::uint32_t tid = 1; tid <= 6; tid++)
      if (tid != i + 1) waiters.push_back(tid);
    tally.add(look(7, waiters, i + 1, 0x1000 + 0x100u * (i / 3)), {});  // a collection moves it
  }
  const auto causes = causes_of(tally, look(7, {}, 0), 50);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_TRUE(causes[0].what.starts_with("5 of 6 threads wait for the monitor of Shop.Gate")) << causes[0].what;
  EXPECT_TRUE(causes[0].what.ends_with("at any time (100 ms each)")) << causes[0].what;
  EXPECT_TRUE(causes[0].is_certain);
  EXPECT_NEAR(causes[0].share, 5.0 / 6, 0.01);
}

TEST(LockTally, OneThreadThatJustCameLeavesTheRestCertain) {
  for (const std::uint32_t likely_looks : {1u, 5u}) {
    LockTally tally;
    for (std::uint32_t i = 0; i < 5; i++) {
      ProcessDump dump = look(5, {1, 2, 3, 4}, 5);
      if (i < likely_looks) dump.threads[i % 2].wait->proof = Proof::likely;
      tally.add(dump, {});
    }
    const auto causes = causes_of(tally, look(5, {}, 0));
    ASSERT_EQ(causes.size(), 1u);
    EXPECT_EQ(causes[0].is_certain, likely_looks == 1) << causes[0].what;
    EXPECT_EQ(causes[0].what.find("(likely)") == std::string::npos, likely_looks == 1) << causes[0].what;
  }
}

TEST(LockTally, AnOwnerThatWaitsForTheLockAgainDoesNothingUnderIt) {
  LockTally tally;
  for (std::uint32_t i = 0; i < 5; i++) {
    ProcessDump dump = look(4, {1, 2, 3}, 3);
    // Nobody is known to hold a mutex at the moment at which it changes hands.
    for (ThreadDump& t : dump.threads)
      if (t.wait) t.wait->kind = WaitKind::wait_handle;
    dump.threads[2].wait->owners.clear();
    tally.add(dump, {});
  }
  const auto causes = causes_of(tally, look(4, {}, 0));
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_TRUE(causes[0].more.empty()) << causes[0].more[0];
}

TEST(LockTally, MomentsAreNoCause) {
  LockTally tally;
  tally.add(look(4, {1, 2}, 3), {});
  EXPECT_TRUE(tally.any());
  for (int i = 0; i < 5; i++) tally.add(look(4, {}, 0), {});
  EXPECT_TRUE(causes_of(tally, look(4, {}, 0)).empty());
}

TEST(LockTally, OneThreadBehindOneOwnerWaitsForItsEnd) {
  LockTally tally;
  for (int i = 0; i < 6; i++) tally.add(look(4, {1}, 3), std::chrono::steady_clock::time_point(100ms * i));
  EXPECT_TRUE(causes_of(tally, look(4, {}, 0)).empty());
  EXPECT_EQ(tally.longest(), 500ms);
}

TEST(LockTally, FewLooksSayNothing) {
  LockTally tally;
  for (int i = 0; i < 2; i++) tally.add(look(4, {1, 2}, 3), {});
  EXPECT_TRUE(causes_of(tally, look(4, {}, 0)).empty());
}

}  // namespace
}  // namespace mixstack::why
