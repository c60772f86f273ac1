#include "target/live/tracer_thread.h"

#include <gtest/gtest.h>
#include <sys/ptrace.h>

#include "target/live/test_process.h"

namespace mixstack::target {
namespace {

using namespace test;

void* waiting_thread(void* shared) {
  auto& s = *static_cast<Shared*>(shared);
  s.values[0] = gettid_now();
  s.ready++;
  for (;;) ::pause();
}
void* execing_thread(void* shared) {
  auto& s = *static_cast<Shared*>(shared);
  s.values[1] = gettid_now();
  s.ready++;
  while (s.go == 0) nap(100us);
  ::execl("/bin/sleep", "sleep", "1000", nullptr);
  return nullptr;
}

TEST(TracerThread, AnExecThatWaitsForOurTraceesDoesNotBlockUs) {
  // The kernel's dead-lock: exec waits, holding a lock, until its dying threads are collected; the tracer that should
  // collect them waits for the lock in PTRACE_SEIZE. Without the waiting thread's help this test never ends.
  const TestProcess process(
      [](Shared& s) {
        start_thread(waiting_thread, &s);
        start_thread(execing_thread, &s);
      },
      2);
  ASSERT_TRUE(process.is_ready());
  bool seized = false;
  auto ran = run_as_tracer([&](TraceeList& tracees) {
    const auto traced = static_cast<pid_t>(process.shared().values[0]);
    seized = ::ptrace(PTRACE_SEIZE, traced, nullptr, nullptr) == 0;
    tracees.add(traced);
    process.shared().go = 1;
    (void)eventually([&] { return state_of(process.pid(), traced) == 'Z'; }, 5s);
    (void)::ptrace(PTRACE_SEIZE, static_cast<pid_t>(process.shared().values[1]), nullptr, nullptr);
  });
  EXPECT_TRUE(ran.has_value());
  EXPECT_TRUE(seized);
  EXPECT_TRUE(eventually([&] { return slurp("/proc/" + std::to_string(process.pid()) + "/comm") == "sleep\n"; }));
  EXPECT_TRUE(is_untraced(process.pid()));
}

TEST(TracerThread, WhatItStillTracesIsFreeWhenItReturns) {
  const TestProcess process([](Shared& s) {
    s.ready++;
    for (;;) s.counter++;
  });
  for (const bool stop : {false, true}) {
    auto ran = run_as_tracer([&](TraceeList&) {
      EXPECT_EQ(::ptrace(PTRACE_SEIZE, process.pid(), nullptr, nullptr), 0);
      if (!stop) return;
      EXPECT_EQ(::ptrace(PTRACE_INTERRUPT, process.pid(), nullptr, nullptr), 0);
      int status = 0;
      EXPECT_EQ(::waitpid(process.pid(), &status, __WALL), process.pid());
    });
    EXPECT_TRUE(ran.has_value());
    EXPECT_TRUE(is_untraced(process.pid())) << "at once, not a little later";
    const long before = process.shared().counter;
    EXPECT_TRUE(eventually([&] { return process.shared().counter > before; }));
  }
}

TEST(TracerThread, BlocksSignalsOnlyWhileItRuns) {
  sigset_t before, during, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  auto ran = run_as_tracer([&](TraceeList&) { pthread_sigmask(SIG_SETMASK, nullptr, &during); });
  EXPECT_TRUE(ran.has_value());
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (const int signal : {SIGTERM, SIGTSTP, SIGCHLD, SIGUSR1}) {
    EXPECT_EQ(sigismember(&during, signal), 1);
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal));
  }
  EXPECT_EQ(sigismember(&during, SIGSEGV), 0);
}

}  // namespace
}  // namespace mixstack::target
