#include "base/system/own_program.h"

#include <gtest/gtest.h>

namespace mixstack::base {
namespace {

TEST(OwnProgram, WordsForAShell) {
  EXPECT_EQ(quoted_for_shell("/usr/bin/mixstack-1.0"), "/usr/bin/mixstack-1.0");
  EXPECT_EQ(quoted_for_shell("/my programs/it's"), "'/my programs/it'\\''s'");
  EXPECT_EQ(quoted_for_shell(""), "''");
  EXPECT_NE(own_program_for_shell().find("mixstack_base_system_test"), std::string::npos);
}

}  // namespace
}  // namespace mixstack::base
