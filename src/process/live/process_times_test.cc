#include "process/live/process_times.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace mixstack::process {
namespace {

TEST(ProcessTimes, AreAddedByName) {
  const std::vector<ProcessTime> before{
      {1, 5, 100, "init"}, {7, 50, 10, "backup"}, {8, 50, 10, "backup"}, {9, 60, 500, "app"}};
  const std::vector<ProcessTime> after{
      {1, 5, 100, "init"}, {7, 50, 40, "backup"}, {8, 90, 30, "backup"}, {9, 60, 900, "app"}, {11, 99, 5, "sh"}};
  const auto used = used_between(before, after, {9});
  ASSERT_EQ(used.size(), 2u);
  const double tick = 1e9 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  EXPECT_EQ(used[0].name, "backup");
  EXPECT_EQ(used[0].processes, 2u);
  EXPECT_EQ(used[0].used.count(), static_cast<std::int64_t>(60 * tick)) << "the number 8 is another process now";
  EXPECT_EQ(used[1].name, "sh");
}

TEST(ProcessTimes, OursIsAmongThem) {
  const auto all = process_times();
  const auto is_ours = [](const ProcessTime& p) { return p.pid == static_cast<std::uint32_t>(::getpid()); };
  const auto ours = std::find_if(all.begin(), all.end(), is_ours);
  ASSERT_NE(ours, all.end());
  EXPECT_FALSE(ours->name.empty());
  EXPECT_GT(ours->started, 0u);
}

}  // namespace
}  // namespace mixstack::process
