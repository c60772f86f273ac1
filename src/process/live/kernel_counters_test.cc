#include "process/live/kernel_counters.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace mixstack::process {
namespace {

using std::chrono::milliseconds;

TEST(KernelCounters, FieldsOfStatAreCountedBehindTheName) {
  const auto stat =
      parse_stat_counters("42 (a) R (b) S 1 42 42 0 -1 4194560 10 11 12 13 14 15 16 17 20 0 1 0 2222 9 9 9 9\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->name, "a) R (b");
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->minor_faults, 10u);
  EXPECT_EQ(stat->children_minor_faults, 11u);
  EXPECT_EQ(stat->major_faults, 12u);
  EXPECT_EQ(stat->user, 14u);
  EXPECT_EQ(stat->system, 15u);
  EXPECT_EQ(stat->children_user, 16u);
  EXPECT_EQ(stat->children_system, 17u);
  EXPECT_EQ(stat->started, 2222u);
  for (const char* bad : {"", "42", "42 (a", "42 )a(", "42 (a)"}) EXPECT_FALSE(parse_stat_counters(bad)) << bad;
}

TEST(KernelCounters, LinesOfIoMayBeMissing) {
  const IoCounters io = parse_io_counters("rchar: 7\nwchar: x\nsyscr: 2\nsyscw 3\nread_bytes: 4096\n");
  EXPECT_EQ(io.read_bytes, 7u);
  EXPECT_EQ(io.reads, 2u);
  EXPECT_FALSE(io.writes);
  EXPECT_FALSE(io.written_bytes);
}

TEST(KernelCounters, BusyProcessorsAreThoseThatAreNotIdle) {
  const char* const text =
      "cpu  100 10 20 5000 300 1 2 70 50 5\n"
      "cpu0 60 10 20 2000 100 1 2 70 50 5\n"
      "cpu2 40 0 0 3000 200 0 0 0 0 0\n"
      "intr 1 2 3\n";
  const BusyProcessors busy = parse_busy_processors(text, {false, false, true});
  const double tick = 1000.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  ASSERT_TRUE(busy.all && busy.allowed);
  EXPECT_EQ(busy.all->count(), static_cast<std::int64_t>(133 * tick * 1e6));
  EXPECT_EQ(busy.allowed->count(), static_cast<std::int64_t>(40 * tick * 1e6));
  EXPECT_FALSE(parse_busy_processors(text, {}).allowed);
  EXPECT_FALSE(parse_busy_processors("intr 1", {true}).all);
}

TEST(KernelCounters, OfOurselves) {
  const auto pid = static_cast<std::uint32_t>(::getpid());
  const KernelCounters before = kernel_counters(pid);
  const auto begin = std::chrono::steady_clock::now();
  std::vector<char> touched(8 << 20);
  for (std::size_t i = 0; i < touched.size(); i += 4096) touched[i] = 1;
  volatile unsigned x = 0;
  while (std::chrono::steady_clock::now() - begin < milliseconds(60)) x = x + 1;
  const KernelCounters after = kernel_counters(pid);
  ASSERT_FALSE(after.threads.empty());
  ASSERT_TRUE(before.user && after.user && before.minor_faults && after.minor_faults && after.rss_anon);
  EXPECT_GE(*after.minor_faults - *before.minor_faults, 4u);  // few if pages are huge
  EXPECT_GT(*after.rss_anon, *before.rss_anon);
  EXPECT_GE(after.processors, 1u);
  ASSERT_TRUE(before.busy_there && after.busy_there && after.machine_busy);
  EXPECT_LE(*after.busy_there, *after.machine_busy + milliseconds(1000));
  const ThreadCounters& main = after.threads.front();
  EXPECT_EQ(main.tid, pid);
  EXPECT_FALSE(main.name.empty());
  ASSERT_TRUE(main.minor_faults);
  EXPECT_GT(main.cpu.value_or(milliseconds(2)), milliseconds(1));
  EXPECT_GT(main.read_bytes.value_or(1), 0u);
}

TEST(KernelCounters, ALaterLookReadsAllOfThreadsThatRan) {
  const auto pid = static_cast<std::uint32_t>(::getpid());
  std::atomic<bool> is_over{false};
  std::thread sleeper([&is_over] { is_over.wait(false); });
  KernelCounters earlier, before;
  do {  // until it sleeps
    earlier = kernel_counters(pid);
    std::this_thread::sleep_for(milliseconds(10));
    before = kernel_counters(pid);
  } while (before.threads.size() < 2 || earlier.threads.back().cpu != before.threads.back().cpu);
  for (ThreadCounters& t : before.threads) t.name = "as before";
  const auto begin = std::chrono::steady_clock::now();
  volatile unsigned x = 0;
  while (std::chrono::steady_clock::now() - begin < milliseconds(60)) x = x + 1;
  const KernelCounters after = kernel_counters(pid, before);
  is_over = true;
  is_over.notify_all();
  sleeper.join();
  ASSERT_GE(after.threads.size(), 2u);
  EXPECT_NE(after.threads.front().name, "as before") << "it ran";
  if (after.threads.back().cpu) {  // schedstat may be missing in a kernel
    EXPECT_EQ(after.threads.back().tid, before.threads.back().tid);
    EXPECT_EQ(after.threads.back().cpu, before.threads.back().cpu) << "it slept";
    EXPECT_EQ(after.threads.back().name, "as before");
  }
}

TEST(KernelCounters, AProcessThatIsNotThereHasNone) {
  const KernelCounters none = kernel_counters(0x7ffffff0);
  EXPECT_TRUE(none.threads.empty());
  EXPECT_FALSE(none.user);
}

}  // namespace
}  // namespace mixstack::process
