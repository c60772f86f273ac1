#include "process/perf/write_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "process/perf/burning_process.h"
#include "process/perf/kernel_files.h"
#include "support/host_cpu.h"

namespace mixstack::perf {
namespace {

using test::BurningProcess;

/// The thread that burns; the other one is the first.
ThreadId burning_thread(const BurningProcess& process) {
  const auto threads = threads_of(process.pid());
  for (const ThreadId tid : threads ? *threads : std::vector<ThreadId>())
    if (tid != process.pid()) return tid;
  return 0;
}

bool is_forbidden(const Error& error) {
  return error.code == ErrorCode::permission_denied || error.code == ErrorCode::unsupported;
}

TEST(WriteWatch, SamplesWritesWhileItIsSwitchedOn) {
  const BurningProcess process(1);
  const Address words[] = {process.rounds_at()};
  auto watch = WriteWatch::open(burning_thread(process), test::kHostCpu, words, {});
  if (!watch && is_forbidden(watch.error())) GTEST_SKIP() << "no hardware breakpoints here";
  ASSERT_TRUE(watch.has_value()) << watch.error().os_error;
  std::size_t hits = 0, in_writer = 0;
  const auto look = [&] {
    watch->drain([&](std::size_t word, const PerfSample& sample) {
      EXPECT_EQ(word, 0u);
      EXPECT_TRUE(sample.has_user);
      EXPECT_FALSE(sample.stack.empty());
      hits++;
      in_writer += test::code_of(reinterpret_cast<const void*>(&test::burn_in)).contains(sample.user.pc()) ? 1 : 0;
    });
  };
  ASSERT_TRUE(process.use_cpu(0.05, look));
  EXPECT_EQ(hits, 0u);
  const std::uint64_t before = process.rounds();
  watch->switch_on(0);
  ASSERT_TRUE(process.use_cpu(0.1, look));
  watch->switch_off(0);
  look();
  const std::uint64_t written = process.rounds() - before;
  EXPECT_GT(hits, 0u);
  EXPECT_LE(hits, written + 1);
  EXPECT_GE(hits + 2, written);  // that of the switching on and off
  EXPECT_EQ(in_writer, hits);
  EXPECT_EQ(watch->counts(0).hits, hits);
  EXPECT_GT(watch->counts(0).running, 0u);
  const std::size_t seen = hits;
  ASSERT_TRUE(process.use_cpu(0.05, look));
  EXPECT_EQ(hits, seen);
}

TEST(WriteWatch, TakesTheRegistersThatAreFree) {
  const BurningProcess process(1);
  const ThreadId tid = burning_thread(process);
  const Address at = process.rounds_at();
  const Address words[] = {at, at + 8, at + 16};
  auto first = WriteWatch::open(tid, test::kHostCpu, words, {});
  if (!first && is_forbidden(first.error())) GTEST_SKIP() << "no hardware breakpoints here";
  ASSERT_TRUE(first.has_value()) << first.error().os_error;
  EXPECT_EQ(first->words(), 3u);
  auto second = WriteWatch::open(tid, test::kHostCpu, words, {});
  ASSERT_TRUE(second.has_value());
  if (test::kHostCpu == Arch::x86_64) {
    EXPECT_EQ(second->words(), 1u);  // of four
    const auto third = WriteWatch::open(tid, test::kHostCpu, words, {});
    ASSERT_FALSE(third.has_value());
    EXPECT_TRUE(are_registers_taken(third.error()));
  }
  { const WriteWatch gone = std::move(*first); }
  EXPECT_TRUE(WriteWatch::open(tid, test::kHostCpu, words, {}).has_value());
}

TEST(WriteWatch, AHitCostsMoreThanAWrite) {
  const auto cost = measure_hit_cost(test::kHostCpu);
  if (!cost) GTEST_SKIP() << "no hardware breakpoints here";
  EXPECT_GT(*cost, 200);
  EXPECT_LT(*cost, 5e6);
}

TEST(WriteWatch, RefusesWhatIsNotThere) {
  const Address words[] = {0x1000};
  const auto none = WriteWatch::open(0x7ffffff0, test::kHostCpu, words, {});
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, ErrorCode::no_such_thread);
  EXPECT_EQ(WriteWatch::open(1, test::kHostCpu, {}, {}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(WriteWatch::open(1, Arch::unknown, words, {}).error().code, ErrorCode::unsupported_cpu);
}

}  // namespace
}  // namespace mixstack::perf
