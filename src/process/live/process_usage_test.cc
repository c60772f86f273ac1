#include "process/live/process_usage.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>
#include <thread>

namespace mixstack::process {
namespace {

TEST(ProcessUsageTest, ContainersByTheirCgroups) {
  const std::string id(64, 'a');
  for (const std::string& path :
       {"0::/system.slice/docker-" + id + ".scope\n", "0::/docker/" + id,
        "3:cpu:/kubepods/burstable/pod1-2/" + id + "\n0::/\n", "0::/kubepods.slice/cri-containerd-" + id + ".scope",
        "0::/machine.slice/libpod-" + id + ".scope/container"})
    EXPECT_EQ(container_in(path), "aaaaaaaaaaaa") << path;
  for (const std::string& path : {std::string("0::/user.slice/user-0.slice"), "0::/x/" + std::string(63, 'a'),
                                  "0::/x/" + std::string(65, 'a'), std::string()})
    EXPECT_EQ(container_in(path), "") << path;
}

TEST(ProcessUsageTest, OfOurselves) {
  const auto proc = ProcDir::open(static_cast<std::uint32_t>(::getpid()));
  ASSERT_TRUE(proc.has_value());
  UsageMeter meter(proc->pid());
  const auto begin = std::chrono::steady_clock::now();
  volatile unsigned x = 0;
  while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(100)) x = x + 1;
  const ProcessUsage busy = meter.look(*proc, std::chrono::nanoseconds(0));
  ASSERT_TRUE(busy.cpu && busy.uptime && busy.busy);
  EXPECT_GE(*busy.cpu, std::chrono::milliseconds(1));
  EXPECT_GE(*busy.uptime, std::chrono::milliseconds(80));
  EXPECT_LT(*busy.uptime, std::chrono::hours(10));
  EXPECT_GT(busy.resident_bytes, 1000000u);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const ProcessUsage idle = meter.look(*proc, std::chrono::nanoseconds(0));
  ASSERT_TRUE(idle.busy);
  EXPECT_LT(*idle.busy, *busy.busy);
}

TEST(ProcessUsageTest, WhoHasHardlyRunIsAtRest) {
  const UsageMeter meter(static_cast<std::uint32_t>(::getpid()));
  EXPECT_FALSE(UsageMeter(static_cast<std::uint32_t>(::getpid())).is_at_rest()) << "nobody knows yet";
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_TRUE(meter.is_at_rest());
  const auto begin = std::clock();
  volatile unsigned x = 0;
  while (std::clock() - begin < CLOCKS_PER_SEC / 2) x = x + 1;
  EXPECT_FALSE(meter.is_at_rest()) << "half a second of processor time";
}

TEST(ProcessUsageTest, OfAProcessThatIsNot) {
  const auto proc = ProcDir::open(static_cast<std::uint32_t>(::getpid()));
  ASSERT_TRUE(proc.has_value());
  UsageMeter meter((1u << 22) + 1);  // above the most that Linux gives (PID_MAX_LIMIT)
  EXPECT_FALSE(meter.look(*proc, std::chrono::nanoseconds(0)).cpu);
}

}  // namespace
}  // namespace mixstack::process
