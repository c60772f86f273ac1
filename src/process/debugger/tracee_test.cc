// One thread's states, by reports made by hand.
#include "process/debugger/tracee.h"

#include <gtest/gtest.h>
#include <sys/ptrace.h>

#include <csignal>

namespace mixstack::process {
namespace {

using Action = Tracee::Action;
using State = Tracee::State;

constexpr ThreadId kTid = 42;

int stop_status(int signal, int event = 0) { return (signal | event << 8) << 8 | 0x7f; }

Tracee stopped_by(int status, bool holds_at_signals = false) {
  Tracee t;
  t.tid = kTid;
  t.take_stop(decode_wait_status(kTid, status), holds_at_signals);
  return t;
}

struct Actions {
  Action run, stand_still, leave;
  friend bool operator==(const Actions&, const Actions&) = default;
};
Actions actions_of(const Tracee& t) {
  return {t.next_action(Wish::run), t.next_action(Wish::stand_still), t.next_action(Wish::leave)};
}

TEST(Tracee, AStopThatWasAskedForHolds) {
  const Tracee t = stopped_by(stop_status(SIGTRAP, PTRACE_EVENT_STOP));
  EXPECT_EQ(t.state, State::stopped);
  EXPECT_EQ(actions_of(t), (Actions{Action::go_on, Action::none, Action::detach}));
}

TEST(Tracee, StopsAtEventsHoldAsWell) {
  for (const int event : {PTRACE_EVENT_CLONE, PTRACE_EVENT_FORK, PTRACE_EVENT_VFORK, PTRACE_EVENT_EXEC}) {
    const Tracee t = stopped_by(stop_status(SIGTRAP, event), true);
    EXPECT_EQ(t.signal, 0);
    EXPECT_EQ(actions_of(t), (Actions{Action::go_on, Action::none, Action::detach})) << event;
  }
  const Tracee t = stopped_by(stop_status(SIGTRAP | 0x80));
  EXPECT_EQ(actions_of(t), (Actions{Action::go_on, Action::none, Action::detach}));
}

TEST(Tracee, ASignalIsDeliveredBeforeTheThreadIsHeld) {
  const Tracee t = stopped_by(stop_status(SIGUSR1));
  EXPECT_EQ(t.signal, SIGUSR1);
  EXPECT_EQ(actions_of(t), (Actions{Action::go_on, Action::deliver, Action::detach}));
}

TEST(Tracee, ASignalWaitsWhereTheUserHoldsAtSignals) {
  const Tracee t = stopped_by(stop_status(SIGUSR1), true);
  EXPECT_EQ(t.signal, SIGUSR1) << "to be delivered when it goes on";
  EXPECT_EQ(actions_of(t), (Actions{Action::go_on, Action::none, Action::detach}));
}

TEST(Tracee, AJobControlStopIsReturnedTo) {
  Tracee t = stopped_by(stop_status(SIGTSTP, PTRACE_EVENT_STOP), true);
  EXPECT_EQ(t.job_stop, SIGTSTP);
  EXPECT_EQ(t.signal, 0) << "it has taken effect already";
  EXPECT_EQ(actions_of(t), (Actions{Action::listen, Action::none, Action::detach}));
  t.goes_on(State::listening);
  EXPECT_FALSE(t.is_still()) << "SIGCONT may end it at any time";
  EXPECT_EQ(actions_of(t), (Actions{Action::none, Action::none, Action::none}));
  t.take_stop(decode_wait_status(kTid, stop_status(SIGTRAP, PTRACE_EVENT_STOP)), false);
  EXPECT_EQ(actions_of(t), (Actions{Action::go_on, Action::none, Action::detach})) << "SIGCONT has";
}

TEST(Tracee, NothingIsLeftOfAStopThatIsOver) {
  Tracee t = stopped_by(stop_status(SIGUSR1), true);
  t.goes_on(State::running);
  EXPECT_EQ(t.signal, 0) << "it is not delivered twice";
  EXPECT_EQ(actions_of(t), (Actions{Action::none, Action::none, Action::none}));
  t.take_stop(decode_wait_status(kTid, stop_status(SIGUSR2)), false);
  EXPECT_EQ(actions_of(t), (Actions{Action::go_on, Action::deliver, Action::detach}));
}

TEST(Tracee, AnEndedMainThreadStandsStillForEver) {
  Tracee t;
  t.state = State::ended;
  EXPECT_TRUE(t.is_still());
  EXPECT_EQ(actions_of(t), (Actions{Action::none, Action::none, Action::none}));
  t.take_stop(decode_wait_status(kTid, stop_status(SIGTRAP, PTRACE_EVENT_EXEC)), false);
  EXPECT_EQ(t.state, State::stopped) << "another thread's exec gave its number away";
}

}  // namespace
}  // namespace mixstack::process
