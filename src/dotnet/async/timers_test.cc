#include "dotnet/async/timers.h"

#include <gtest/gtest.h>

#include "support/fake_libraries.h"

namespace mixstack::dotnet::objects {
namespace {

using std::chrono::milliseconds;
using test::FakeLibraries;

class TimersTest : public ::testing::Test {
 protected:
  enum Type : std::size_t { queue, timer, task, delay, cancellation };
  static constexpr std::uint32_t kShort = 8, kLong = 16, kStart = 8, kDue = 16, kState = 24, kNext = 32;
  static constexpr std::int64_t kNow = 10'000;

  TimersTest() {
    using F = FakeLibraries;
    types_ = heap_.load("System.Private.CoreLib",
                        {{"System.Threading",
                          "TimerQueue",
                          0,
                          0,
                          {{"<Instances>k__BackingField", 0, F::kReference, true},
                           {"_shortTimers", kShort - 8},
                           {"_longTimers", kLong - 8}}},
                         {"System.Threading",
                          "TimerQueueTimer",
                          0,
                          0,
                          {{"_startTicks", kStart - 8, F::kLong},
                           {"_dueTime", kDue - 8, F::kUnsigned},
                           {"_state", kState - 8},
                           {"_next", kNext - 8}}},
                         {"System.Threading.Tasks", "Task"},
                         {"", "DelayPromise", 3, 3},
                         {"System.Threading", "CancellationTokenSource"}},
                        true);
    queue_ = heap_.make(types_[queue]);
    instances_ = heap_.statics_of(types_[queue]);
    heap_.memory.put_u64(instances_, heap_.references({queue_}));
  }

  Address timer_of(std::int64_t start, std::uint32_t due, Address state = 0, Address next = 0) {
    const Address at = heap_.make(types_[timer]);
    heap_.memory.put_u64(at + kStart, static_cast<std::uint64_t>(start));
    heap_.memory.put_u32(at + kDue, due);
    heap_.memory.put_u64(at + kState, state);
    heap_.memory.put_u64(at + kNext, next);
    return at;
  }
  void set(std::uint32_t list, Address first) { heap_.memory.put_u64(queue_ + list, first); }
  std::optional<TimersFound> read(std::optional<std::int64_t> now = kNow, std::size_t most = 100) {
    AsyncChains chains(objects_, delegates_, machines_, now);
    return read_timers(objects_, chains, most);
  }

  FakeLibraries heap_;
  std::vector<Address> types_;
  names::MethodNames names_{heap_.runtime(), {}};
  LoadedTypes loaded_{heap_.runtime(), names_};
  ManagedObjects objects_{loaded_};
  CodeManager code_{heap_.runtime(), heap_.contracts};
  Delegates delegates_{objects_, code_, names_};
  StateMachines machines_{objects_, delegates_};
  Address queue_ = 0, instances_ = 0;
};

TEST_F(TimersTest, NoQueuesAreNotNoTimers) {
  EXPECT_EQ(read()->timers.count, 0u);
  heap_.memory.put_u64(instances_, 0);
  EXPECT_FALSE(read());
}

TEST_F(TimersTest, TimersOfBothListsByWhatTheyAreFor) {
  const Address promise = heap_.make(types_[delay]);
  set(kShort, timer_of(kNow, 500, promise, timer_of(kNow, 900, heap_.make(types_[cancellation]))));
  set(kLong, timer_of(kNow, 60'000));
  const auto found = read();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->timers.count, 3u);
  EXPECT_EQ(found->timers.delays, 1u);
  EXPECT_EQ(found->timers.timeouts, 1u);
  EXPECT_EQ(found->delays, std::vector{promise});
  EXPECT_EQ(found->timers.next_due, milliseconds(500));
  EXPECT_FALSE(found->timers.has_more);
}

TEST_F(TimersTest, TheNextOneMayBeOverdue) {
  set(kShort, timer_of(kNow - 900, 500, 0, timer_of(kNow, 100)));
  EXPECT_EQ(read()->timers.next_due, milliseconds(-400));
  EXPECT_FALSE(read(std::nullopt)->timers.next_due) << "a core has no clock";
}

TEST_F(TimersTest, ATimerThatIsNotSetIsNeverDue) {
  set(kShort, timer_of(kNow, 0xffffffff));
  const auto found = read();
  EXPECT_EQ(found->timers.count, 1u);
  EXPECT_FALSE(found->timers.next_due);
}

TEST_F(TimersTest, AListWithoutAnEndIsCutOff) {
  const Address only = timer_of(kNow, 10);
  heap_.memory.put_u64(only + kNext, only);
  set(kShort, only);
  const auto found = read(kNow, 50);
  EXPECT_EQ(found->timers.count, 50u);
  EXPECT_TRUE(found->timers.has_more);
}

TEST_F(TimersTest, WhatIsNoTimerEndsAList) {
  set(kShort, timer_of(kNow, 10, 0, heap_.make(types_[task])));
  EXPECT_EQ(read()->timers.count, 1u);
  set(kShort, 0xdead0000);
  EXPECT_EQ(read()->timers.count, 0u);
}

}  // namespace
}  // namespace mixstack::dotnet::objects
