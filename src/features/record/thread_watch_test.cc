#include "features/record/thread_watch.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <utility>

#include "features/record/batch_queue.h"
#include "features/record/round_clock.h"

namespace mixstack::record {
namespace {

TEST(ThreadWatch, ReadsWhatTheKernelWrites) {
  const auto counts = parse_schedstat("123 456 7\n");
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->cpu_ns, 123u);
  EXPECT_EQ(counts->queued_ns, 456u);
  EXPECT_EQ(counts->runs, 7u);
  for (const char* text : {"", "1", "1 2", "x 2 3", "99999999999999999999 1 1"})
    EXPECT_FALSE(parse_schedstat(text)) << text;
  const auto call = parse_waiting_call("202 0x7f12 0x80 0x0 0x0 0x0 0xffffffff 0x7ffd10 0x7f3456\n");
  ASSERT_TRUE(call);
  EXPECT_EQ(*call, (WaitingCall{202, 0x7ffd10, 0x7f3456}));
  for (const char* text : {"", "running\n", "-1 0x7ffd10 0x7f3456\n", "202 0x1 0x2\n", "70000 0 0 0 0 0 0 0 0"})
    EXPECT_FALSE(parse_waiting_call(text)) << text;
}

TEST(ThreadWatch, SeesOurOwnThreadRun) {
  ThreadWatch watch(static_cast<std::uint32_t>(::getpid()));
  for (int i = 0; i < 2; i++) {
    const auto round = watch.look();
    ASSERT_TRUE(round);
    const auto self = static_cast<ThreadId>(::gettid());
    EXPECT_TRUE(std::binary_search(round->changed.begin(), round->changed.end(), self));
    EXPECT_TRUE(round->unchanged.empty());
  }
}

TEST(ThreadWatch, SaysWhenTheProcessIsNotThere) {
  ThreadWatch watch(0x7ffffff0);
  const auto round = watch.look();
  ASSERT_FALSE(round);
  EXPECT_EQ(round.error().code, ErrorCode::no_such_process);
}

/// Allows so many more open files, and no others, as long as it lives.
class FewFiles {
 public:
  explicit FewFiles(rlim_t more) {
    const int next = ::dup(0);
    (void)::close(next);
    (void)::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{static_cast<rlim_t>(next) + more, before_.rlim_max};
    (void)::setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewFiles() { (void)::setrlimit(RLIMIT_NOFILE, &before_); }
  FewFiles(const FewFiles&) = delete;
  FewFiles& operator=(const FewFiles&) = delete;

 private:
  rlimit before_{};
};

TEST(ThreadWatch, TooFewFilesAreNoEndOfTheProcess) {
  const auto pid = static_cast<std::uint32_t>(::getpid());
  {
    const FewFiles none(0);
    ThreadWatch watch(pid);
    const auto round = watch.look();
    ASSERT_FALSE(round);
    EXPECT_EQ(round.error(), (Error{ErrorCode::io_error, EMFILE, 0}));
  }
  ThreadWatch watch(pid);
  {
    const FewFiles none(0);
    const auto round = watch.look();
    ASSERT_FALSE(round);
    EXPECT_EQ(round.error(), (Error{ErrorCode::io_error, EMFILE, 0}));
  }
  // Enough for the list alone: whether its threads ran is not known.
  const FewFiles one(1);
  const auto round = watch.look();
  ASSERT_TRUE(round);
  EXPECT_EQ(round->changed, (std::vector<ThreadId>{static_cast<ThreadId>(::gettid())}));
  EXPECT_TRUE(round->ended.empty());
}

std::ptrdiff_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

TEST(ThreadWatch, LeavesFilesToOthers) {
  const std::ptrdiff_t before = open_files();
  for (const auto& [more, kept] : {std::pair(100u, 2), std::pair(15u, 0)}) {
    const FewFiles few(more);
    ThreadWatch watch(static_cast<std::uint32_t>(::getpid()));
    ASSERT_TRUE(watch.look());
    EXPECT_EQ(open_files(), before + 1 + kept) << "beside the folder";
  }
}

TEST(RoundClock, OneInstantInEachPeriodAnywhereInIt) {
  RoundClock clock(1000, 100, 1);
  std::uint64_t least = 100, most = 0;
  for (std::uint64_t i = 1; i <= 1000; i++) {
    const std::uint64_t due = clock.next(1000 + (i - 1) * 100);
    ASSERT_EQ((due - 1000) / 100, i);
    least = std::min(least, due % 100);
    most = std::max(most, due % 100);
  }
  EXPECT_LT(least, 5u);
  EXPECT_GT(most, 95u);
  EXPECT_EQ(clock.skipped(), 0u);
}

TEST(RoundClock, PeriodsThatAreOverAreCountedNotCaughtUp) {
  RoundClock clock(0, 100, 1);
  const std::uint64_t due = clock.next(1050);
  EXPECT_EQ(due / 100, 10u);
  EXPECT_EQ(clock.skipped(), 9u);
}

TEST(BatchQueue, WaitsWhenFullAndEndsWhenToldTo) {
  BatchQueue queue;
  std::stop_source stop;
  for (std::size_t i = 0; i < BatchQueue::kMostBatches; i++) {
    SampleBatch batch;
    batch.repeats.push_back({static_cast<ThreadId>(i), 0, Activity::waiting});
    ASSERT_TRUE(queue.push(std::move(batch), stop.get_token()));
  }
  stop.request_stop();
  SampleBatch last;
  last.repeats.resize(3);
  EXPECT_FALSE(queue.push(std::move(last), stop.get_token()));
  EXPECT_EQ(queue.dropped(), 3u);
  queue.close();
  for (std::size_t i = 0; i < BatchQueue::kMostBatches; i++) {
    const auto batch = queue.pop();
    ASSERT_TRUE(batch);
    EXPECT_EQ(batch->repeats.front().tid, i);
  }
  EXPECT_FALSE(queue.pop());
}

}  // namespace
}  // namespace mixstack::record
