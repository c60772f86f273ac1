#include "process/live/tracer.h"

#include <gtest/gtest.h>
#include <sys/ptrace.h>

#include "process/live/test_process.h"

namespace mixstack::process {
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

class TracerKinds : public testing::TestWithParam<Tracer::Kind> {};
INSTANTIATE_TEST_SUITE_P(Both, TracerKinds, testing::Values(Tracer::Kind::process, Tracer::Kind::thread),
                         [](const auto& info) { return info.param == Tracer::Kind::process ? "Process" : "Thread"; });

TEST_P(TracerKinds, AnExecThatWaitsForOurTraceesDoesNotBlockUs) {
  // The kernel's dead-lock: exec waits, holding a lock, until its dying threads are collected; the tracer that should
  // collect them waits for the lock in PTRACE_SEIZE. Without help this test never ends.
  const TestProcess process(
      [](Shared& s) {
        start_thread(waiting_thread, &s);
        start_thread(execing_thread, &s);
      },
      2);
  ASSERT_TRUE(process.is_ready());
  int error = -1;
  auto ran = run_as_tracer(
      [&](Tracer& tracer) {
        const auto traced = static_cast<ThreadId>(process.shared().values[0]);
        error = tracer.seize(traced, 0);
        tracer.add(traced);
        process.shared().go = 1;
        (void)eventually([&] { return state_of(process.pid(), static_cast<pid_t>(traced)) == 'Z'; }, 5s);
        (void)tracer.seize(static_cast<ThreadId>(process.shared().values[1]), 0);
      },
      GetParam());
  EXPECT_TRUE(ran.has_value());
  EXPECT_EQ(error, 0);
  EXPECT_TRUE(eventually([&] { return slurp("/proc/" + std::to_string(process.pid()) + "/comm") == "sleep\n"; }));
  EXPECT_TRUE(is_untraced(process.pid()));
}

TEST_P(TracerKinds, WhatItStillTracesIsFreeWhenItReturns) {
  const TestProcess process([](Shared& s) {
    s.ready++;
    for (;;) s.counter++;
  });
  for (const bool stop : {false, true}) {
    auto ran = run_as_tracer(
        [&](Tracer& tracer) {
          EXPECT_EQ(tracer.seize(process.id(), 0), 0);
          if (!stop) return;
          EXPECT_EQ(::ptrace(PTRACE_INTERRUPT, process.pid(), nullptr, nullptr), 0);
          int status = 0;
          EXPECT_EQ(::waitpid(process.pid(), &status, __WALL), process.pid());
        },
        GetParam());
    EXPECT_TRUE(ran.has_value());
    EXPECT_TRUE(is_untraced(process.pid())) << "at once, not a little later";
    const long before = process.shared().counter;
    EXPECT_TRUE(eventually([&] { return process.shared().counter > before; }));
  }
}

TEST_P(TracerKinds, NoSignalComesBetweenStopAndRelease) {
  sigset_t before, during, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  auto ran = run_as_tracer([&](Tracer&) { pthread_sigmask(SIG_SETMASK, nullptr, &during); }, GetParam());
  EXPECT_TRUE(ran.has_value());
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (const int signal : {SIGTERM, SIGTSTP, SIGCHLD, SIGUSR1}) {
    EXPECT_EQ(sigismember(&during, signal), 1);
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal));
  }
}

/// Stops a thread of the target and then reads something that nobody ever answers.
void stop_and_read_for_ever(Tracer& tracer, pid_t pid, int fd) {
  EXPECT_EQ(tracer.seize(static_cast<ThreadId>(pid), 0), 0);
  EXPECT_EQ(::ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr), 0);
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, __WALL), pid);
  tracer.begin_read();
  char byte = 0;
  (void)!::read(fd, &byte, 1);
  tracer.end_read();
}

TEST(Tracer, AReadThatNeverEndsIsEndedAndTheTargetGoesOn) {
  const TestProcess process([](Shared& s) {
    s.ready++;
    for (;;) s.counter++;
  });
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  auto ran = run_as_tracer([&](Tracer& tracer) { stop_and_read_for_ever(tracer, process.pid(), ends[0]); });
  ASSERT_FALSE(ran.has_value());
  EXPECT_EQ(ran.error().os_error, ETIMEDOUT);
  EXPECT_TRUE(is_untraced(process.pid()));
  const long before = process.shared().counter;
  EXPECT_TRUE(eventually([&] { return process.shared().counter > before; }));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Tracer, EndsWithTheProcessItWorksFor) {
  const TestProcess process([](Shared& s) {
    s.ready++;
    for (;;) s.counter++;
  });
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    const TestProcess tool([&](Shared& s) {
      ::signal(signal, SIG_DFL);  // what starts things in the background has them ignore Ctrl-C
      int ends[2];
      if (::pipe(ends) != 0) ::_exit(9);
      (void)run_as_tracer([&](Tracer& tracer) {
        EXPECT_EQ(tracer.seize(process.id(), 0), 0);
        EXPECT_EQ(::ptrace(PTRACE_INTERRUPT, process.pid(), nullptr, nullptr), 0);
        int status = 0;
        EXPECT_EQ(::waitpid(process.pid(), &status, __WALL), process.pid());
        s.ready++;
        char byte = 0;
        (void)!::read(ends[0], &byte, 1);
      });
    });
    ASSERT_TRUE(tool.is_ready());
    EXPECT_EQ(state_of(process.pid()), 't');
    ::kill(tool.pid(), signal);
    EXPECT_TRUE(eventually([&] { return is_untraced(process.pid()); })) << signal;
    const long before = process.shared().counter;
    EXPECT_TRUE(eventually([&] { return process.shared().counter > before; })) << signal;
  }
}

TEST(Tracer, GoesOnWhenTheProcessItWorksForIsStopped) {
  const TestProcess process([](Shared& s) {
    s.ready++;
    for (;;) s.counter++;
  });
  const TestProcess tool([&](Shared& s) {
    (void)run_as_tracer([&](Tracer& tracer) {
      EXPECT_EQ(tracer.seize(process.id(), 0), 0);
      EXPECT_EQ(::ptrace(PTRACE_INTERRUPT, process.pid(), nullptr, nullptr), 0);
      int status = 0;
      EXPECT_EQ(::waitpid(process.pid(), &status, __WALL), process.pid());
      s.ready++;
      while (s.go == 0) nap(1ms);
    });
  });
  ASSERT_TRUE(tool.is_ready());
  ::kill(tool.pid(), SIGSTOP);
  ASSERT_TRUE(eventually([&] { return state_of(tool.pid()) == 'T'; }));
  tool.shared().go = 1;
  EXPECT_TRUE(eventually([&] { return is_untraced(process.pid()); }));
  const long before = process.shared().counter;
  EXPECT_TRUE(eventually([&] { return process.shared().counter > before; }));
}

}  // namespace
}  // namespace mixstack::process
