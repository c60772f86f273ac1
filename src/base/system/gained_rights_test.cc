#include "base/system/gained_rights.h"

#include <gtest/gtest.h>

namespace mixstack::base {
namespace {

constexpr std::uint64_t bit(unsigned n) { return std::uint64_t{1} << n; }
constexpr std::uint64_t kAll = ~std::uint64_t{0}, kNoBpf = kAll & ~bit(39), kNoPtrace = kAll & ~bit(19);
constexpr std::string_view kFile = "cap_bpf,cap_perfmon,cap_sys_ptrace";

TEST(GainedRights, ListsAreSplitByTheBoundingSet) {
  EXPECT_EQ(within_bounds(kFile, kAll), kFile);
  EXPECT_EQ(within_bounds(kFile, kNoBpf), "cap_perfmon,cap_sys_ptrace");
  EXPECT_EQ(out_of_bounds(kFile, kNoBpf), "cap_bpf");
  EXPECT_EQ(out_of_bounds(kFile, kAll), "");
  EXPECT_EQ(within_bounds("", 0), "");
  EXPECT_EQ(within_bounds("cap_of_tomorrow", 0), "cap_of_tomorrow");
}

TEST(GainedRights, NoLineThatMakesTheFileUseless) {
  const std::string all = ways_to_gain("cap_sys_ptrace", kFile, {}, "/m");
  EXPECT_EQ(all, "sudo /m ..., or once: sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep /m");
  const std::string some = ways_to_gain("cap_sys_ptrace", kFile, {kNoBpf, false, false}, "/m");
  EXPECT_NE(some.find("setcap cap_perfmon,cap_sys_ptrace+ep /m"), std::string::npos) << some;
  EXPECT_NE(some.find("without CAP_BPF"), std::string::npos) << some;
}

TEST(GainedRights, NoWayThatCannotWork) {
  const std::string none = ways_to_gain("cap_sys_ptrace", kFile, {kNoPtrace, false, false}, "/m");
  EXPECT_EQ(none.find("sudo /m"), std::string::npos) << none;
  EXPECT_EQ(none.find("+ep"), std::string::npos) << none;
  EXPECT_NE(none.find("--cap-add=SYS_PTRACE"), std::string::npos) << none;
  EXPECT_EQ(ways_to_gain("cap_bpf", kFile, {kAll, true, false}, "/m").find("sudo /m"), std::string::npos);
  EXPECT_EQ(ways_to_gain("cap_bpf", kFile, {kAll, false, true}, "/m").find("setcap"), std::string::npos);
}

TEST(GainedRights, OwnLimitsAreThoseOfTheKernel) {
  const GainLimits limits = own_gain_limits();
  EXPECT_LT(limits.bounding, bit(63)) << "no kernel has so many";
}

}  // namespace
}  // namespace mixstack::base
