#include "base/system/proc_status.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace mixstack::base {
namespace {

constexpr std::string_view kStatus =
    "Name:\tUid:\t7\nUid:\t1000\t1001\t1002\t1003\nCapEff:\t00000000000000ff\nEmpty:\n";

TEST(ProcStatus, HasALineForEachKey) {
  EXPECT_EQ(status_field(kStatus, "Uid"), "1000\t1001\t1002\t1003") << "not the one in the name";
  EXPECT_EQ(status_field(kStatus, "Empty"), "");
  EXPECT_FALSE(status_field(kStatus, "Cap"));
  EXPECT_FALSE(status_field("", "Uid"));
}

TEST(ProcStatus, HasNumbers) {
  EXPECT_EQ(status_number(kStatus, "Uid"), 1000u);
  EXPECT_EQ(status_number(kStatus, "CapEff", 16), 0xffu);
  EXPECT_EQ(status_number(kStatus, "Empty"), 0u);
  EXPECT_EQ(status_number(kStatus, "None"), 0u);
}

TEST(ProcStatus, SaysWhoWeAre) {
  EXPECT_EQ(status_number(own_status(), "Pid"), static_cast<std::uint64_t>(::getpid()));
  EXPECT_EQ(status_number(own_status(), "Uid"), static_cast<std::uint64_t>(::getuid()));
}

}  // namespace
}  // namespace mixstack::base
