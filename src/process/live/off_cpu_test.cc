#include "process/live/off_cpu.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace mixstack::process {
namespace {

using namespace std::chrono_literals;

TEST(OffCpu, TheLineOfTheKernel) {
  EXPECT_EQ(
      parse_exec_start("cat (1, #threads: 1)\n----\nse.exec_start     :       1803772.018890\nse.vruntime : 5.1\n"),
      1803772ms + 18890ns);
  EXPECT_EQ(parse_exec_start("se.exec_start : 0.000001\n"), 1ns);
  for (const char* text :
       {"", "se.exec_start", "se.exec_start :", "se.exec_start : x", "se.exec_start : 12", "se.exec_start : 12.34",
        "se.exec_start : -1.000000", "se.exec_start : 9223372036854775807.000000", "se.exec_start : 12.-00001",
        "se.vruntime : 12.000000"})
    EXPECT_FALSE(parse_exec_start(text)) << text;
}

// The truth is how long the thread has slept by our clock.
TEST(OffCpu, AThreadThatSleeps) {
  std::atomic<int> tid{0};
  std::atomic<bool> ends{false};
  std::thread sleeper([&] {
    tid = static_cast<int>(::syscall(SYS_gettid));
    tid.notify_all();
    ends.wait(false);
  });
  tid.wait(0);
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(300ms);
  const auto proc = ProcDir::open(static_cast<std::uint32_t>(::getpid()));
  ASSERT_TRUE(proc);
  const ThreadId asked[] = {static_cast<ThreadId>(tid.load()), static_cast<ThreadId>(::getpid())};
  const auto times = off_cpu_times(*proc, asked);
  const auto most = std::chrono::steady_clock::now() - begin + 50ms;
  ends = true;
  ends.notify_all();
  sleeper.join();
  if (!proc->read("sched", 16 << 10)) GTEST_SKIP() << "this kernel does not tell (CONFIG_SCHED_DEBUG)";
  ASSERT_TRUE(times.contains(asked[0]));
  EXPECT_GT(times.at(asked[0]), 250ms);
  EXPECT_LT(times.at(asked[0]), most);
  EXPECT_FALSE(times.contains(asked[1])) << "we run";
}

}  // namespace
}  // namespace mixstack::process
