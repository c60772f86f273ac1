#include "agent/in_process/thread_timers.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

#include "agent/in_process/tasks.h"
#include "agent/in_process/thread_clock.h"

namespace mixstack::agent {
namespace {

std::atomic<int> signals_seen, foreign_seen;
int mark;

void count(int, siginfo_t* info, void*) {
  (info->si_code == SI_TIMER && info->si_value.sival_ptr == &mark ? signals_seen : foreign_seen)++;
}

std::uint32_t own_tid() { return static_cast<std::uint32_t>(::syscall(SYS_gettid)); }

class ThreadTimersTest : public testing::Test {
 protected:
  void SetUp() override {
    signals_seen = foreign_seen = 0;
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    action.sa_sigaction = count;
    ASSERT_EQ(::sigaction(SIGPROF, &action, &before_), 0);
  }
  void TearDown() override { (void)::sigaction(SIGPROF, &before_, nullptr); }
  struct sigaction before_ {};
};

/// Uses CPU time until enough signals came: however slow the machine is, they must.
void work_until(int signals) {
  while (signals_seen < signals) {
  }
}

TEST_F(ThreadTimersTest, AThreadIsSignalledForItsCpuTime) {
  ThreadTimers timers(1000, SIGPROF, &mark);
  ASSERT_TRUE(timers.add(own_tid()));
  EXPECT_TRUE(timers.add(own_tid())) << "known";
  EXPECT_EQ(timers.size(), 1u);
  const std::uint64_t before = cpu_time(own_tid());
  work_until(5);
  EXPECT_GE(cpu_time(own_tid()) - before, 4'000'000u) << "a period of CPU time each, but for the first";
  timers.stop();
  EXPECT_EQ(timers.size(), 0u);
  EXPECT_FALSE(timers.add(own_tid())) << "no more";
  EXPECT_EQ(foreign_seen, 0);
}

TEST_F(ThreadTimersTest, ThreadsThatAreGoneLoseTheirTimers) {
  ThreadTimers timers(100, SIGPROF, &mark);
  std::atomic<std::uint32_t> tid{0};
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    tid = own_tid();
    while (!is_over) std::this_thread::yield();
  });
  while (tid == 0) std::this_thread::yield();
  timers.update(std::vector<std::uint32_t>{own_tid(), tid});
  EXPECT_EQ(timers.size(), 2u);
  EXPECT_EQ(timers.refused(), 0u);
  is_over = true;
  other.join();
  // Its number may still be in a list that was made before.
  while (task_state(tid) != '\0') std::this_thread::yield();
  timers.update(std::vector<std::uint32_t>{own_tid(), tid});
  EXPECT_EQ(timers.size(), 1u);
  EXPECT_EQ(timers.refused(), 1u) << "there is no such thread";
  EXPECT_FALSE(timers.add(tid));
}

TEST(Tasks, OurOwn) {
  const auto tids = own_tasks();
  EXPECT_NE(std::find(tids.begin(), tids.end(), own_tid()), tids.end());
  EXPECT_EQ(task_state(own_tid()), 'R');
  EXPECT_FALSE(task_name(own_tid()).empty());
  EXPECT_EQ(task_state(INT32_MAX), '\0');
  EXPECT_EQ(task_name(INT32_MAX), "");
  EXPECT_EQ(task_runs(INT32_MAX), 0u);
  EXPECT_FALSE(task_wait(INT32_MAX));
}

TEST(Tasks, OneThatWaits) {
  std::atomic<std::uint32_t> tid{0};
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    tid = own_tid();
    is_over.wait(false);
  });
  std::optional<WaitPlace> place;
  while (!place) place = tid == 0 ? std::nullopt : task_wait(tid);
  EXPECT_NE(place->pc, 0u);
  EXPECT_NE(place->sp, 0u);
  const std::uint64_t runs = task_runs(tid);
  if (runs != 0) {  // where the kernel counts
    EXPECT_EQ(task_runs(tid), runs);
  }
  is_over = true;
  is_over.notify_all();
  other.join();
}

}  // namespace
}  // namespace mixstack::agent
