#include "process/live/cpu_quota.h"

#include <gtest/gtest.h>

#include "process/live/cgroup.h"

namespace mixstack::process {
namespace {

constexpr const char* kMounts =
    "30 24 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "31 24 0:27 / /sys/fs/cgroup/unified rw shared:2 - cgroup2 none rw\n"
    "32 24 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";

TEST(CpuQuota, IsFoundInBothVersions) {
  const auto v1 = cgroup_place("4:cpuset:/x\n3:cpu,cpuacct:/a/b\n0::/c\n", kMounts, "cpu");
  ASSERT_TRUE(v1);
  EXPECT_EQ(v1->mount + v1->path, "/sys/fs/cgroup/cpu,cpuacct/a/b");
  EXPECT_FALSE(v1->is_v2);
  const auto v2 = cgroup_place("0::/c\n", kMounts, "cpu");
  ASSERT_TRUE(v2);
  EXPECT_EQ(v2->mount + v2->path, "/sys/fs/cgroup/unified/c");
  EXPECT_TRUE(v2->is_v2);
}

TEST(Cgroup, EachControllerHasItsOwnPlace) {
  const auto place = cgroup_place("4:cpuset:/x\n3:cpu,cpuacct:/a/b\n0::/c\n", kMounts, "cpuset");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->mount + place->path, "/sys/fs/cgroup/cpuset/x");
  const auto memory = cgroup_place("4:cpuset:/x\n0::/c\n", kMounts, "memory");
  ASSERT_TRUE(memory && memory->is_v2);
  EXPECT_EQ(memory->path, "/c");
}

TEST(CpuQuota, OnlyWhatTheMountShowsIsAsked) {
  const char* part = "31 24 0:27 /docker/1 /sys/fs/cgroup rw - cgroup2 none rw\n";
  EXPECT_EQ(cgroup_place("0::/docker/1\n", part, "cpu")->path, "/");
  EXPECT_EQ(cgroup_place("0::/docker/1/x\n", part, "cpu")->path, "/x");
  EXPECT_FALSE(cgroup_place("0::/docker/12\n", part, "cpu"));
  EXPECT_FALSE(cgroup_place("0::/../x\n", kMounts, "cpu"));
  EXPECT_FALSE(cgroup_place("0::/x\n", "", "cpu"));
  EXPECT_FALSE(cgroup_place("", kMounts, "cpu"));
}

TEST(CpuQuota, TheCgroupThatStoppedMostIsTold) {
  const CpuQuota inner{"/a/b", 50000, 100000, 10, 0, {}}, outer{"/a", 20000, 100000, 10, 2, {}};
  CpuQuota inner_later = inner, outer_later = outer;
  inner_later.periods = outer_later.periods = 50;
  outer_later.throttled = 40;
  const auto use = quota_use({inner, outer}, {inner_later, outer_later});
  ASSERT_TRUE(use);
  EXPECT_TRUE(use->is_felt());
  EXPECT_EQ(
      quota_words(*use),
      "the CPU quota of its cgroup /a allows 0.2 processors (20 ms in each 100 ms): throttled in 38 of 40 periods");
  EXPECT_FALSE(quota_use({}, {inner}));
  EXPECT_FALSE(quota_use({inner}, {inner_later})->is_felt());
}

}  // namespace
}  // namespace mixstack::process
