#include "process/kernel/ptrace.h"

#include <gtest/gtest.h>
#include <sys/ptrace.h>

#include <csignal>

#include "process/live/test_process.h"

namespace mixstack::process {
namespace {

using namespace test;
using Event = TraceeEvent;

constexpr int kCore = 0x80;

/// As the kernel makes it (ptrace(2)).
int stop_status(int signal, int event = 0) { return (signal | event << 8) << 8 | 0x7f; }

TEST(Ptrace, WaitStatusesAreDecoded) {
  const struct {
    int status;
    Event event;
    int value;
    bool core_dumped = false;
  } cases[] = {
      {stop_status(SIGUSR1), Event::signal, SIGUSR1},
      {stop_status(SIGTRAP), Event::signal, SIGTRAP},  // a breakpoint of its own
      {stop_status(SIGSTOP), Event::signal, SIGSTOP},  // before it takes effect
      {stop_status(SIGRTMAX), Event::signal, SIGRTMAX},
      {stop_status(SIGTRAP | 0x80), Event::system_call, 0},
      {stop_status(SIGTRAP, PTRACE_EVENT_STOP), Event::stop, 0},
      {stop_status(SIGSTOP, PTRACE_EVENT_STOP), Event::job_stop, SIGSTOP},
      {stop_status(SIGTTIN, PTRACE_EVENT_STOP), Event::job_stop, SIGTTIN},
      {stop_status(SIGTRAP, PTRACE_EVENT_CLONE), Event::clone, 0},
      {stop_status(SIGTRAP, PTRACE_EVENT_FORK), Event::fork, 0},
      {stop_status(SIGTRAP, PTRACE_EVENT_VFORK), Event::vfork, 0},
      {stop_status(SIGTRAP, PTRACE_EVENT_EXEC), Event::exec, 0},
      {stop_status(SIGTRAP, PTRACE_EVENT_EXIT), Event::other, 0},
      {stop_status(SIGTRAP, PTRACE_EVENT_SECCOMP), Event::other, 0},
      {0, Event::exited, 0},
      {7 << 8, Event::exited, 7},
      {SIGKILL, Event::killed, SIGKILL},
      {SIGSEGV | kCore, Event::killed, SIGSEGV, true},
  };
  for (const auto& c : cases) {
    const TraceeReport report = decode_wait_status(42, c.status);
    EXPECT_EQ(report.tid, 42u);
    EXPECT_EQ(report.event, c.event) << std::hex << c.status;
    EXPECT_EQ(report.value, c.value) << std::hex << c.status;
    EXPECT_EQ(report.core_dumped, c.core_dumped) << std::hex << c.status;
    EXPECT_EQ(report.is_end(), c.event == Event::exited || c.event == Event::killed);
    EXPECT_NE(report.is_end(), report.is_stop());
  }
}

TEST(Ptrace, LooksTakeNothing) {
  const TestProcess process([](Shared& s) {
    s.ready++;
    for (;;) s.counter++;
  });
  const ThreadId tid = process.id();
  EXPECT_EQ(ptrace_seize(tid, 0), 0);
  EXPECT_FALSE(peek_report(tid).has_value());
  EXPECT_FALSE(present_stop(tid).has_value());
  ptrace_interrupt(tid);
  ASSERT_TRUE(eventually([&] { return peek_report(tid).has_value(); }));
  EXPECT_EQ(peek_report(tid)->event, Event::stop) << "still there";
  EXPECT_EQ(present_stop(tid)->event, Event::stop);
  EXPECT_TRUE(ptrace_continue(tid, 0));
  EXPECT_FALSE(ptrace_continue(tid, 0)) << "it runs";
  ::kill(process.pid(), SIGUSR1);
  ASSERT_TRUE(eventually([&] { return peek_report(tid).has_value(); }));
  EXPECT_EQ(peek_report(tid)->event, Event::signal);
  EXPECT_EQ(present_stop(tid)->value, SIGUSR1);
  EXPECT_FALSE(ptrace_listen(tid)) << "only from a job-control stop";
  ::kill(process.pid(), SIGKILL);
  ASSERT_TRUE(eventually([&] { return peek_report(tid)->is_end(); }));
  EXPECT_EQ(peek_report(tid)->event, Event::killed);
  EXPECT_FALSE(ptrace_detach(tid)) << "it is dead";
  collect_end(tid);
  EXPECT_EQ(peek_report(tid)->event, Event::gone);
}

}  // namespace
}  // namespace mixstack::process
