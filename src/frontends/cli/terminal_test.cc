#include "frontends/cli/terminal.h"

#include <gtest/gtest.h>

namespace mixstack::cli {
namespace {

using Words = std::vector<std::string>;

TEST(PagerCommand, IsLessUnlessTheUserSaysOtherwise) {
  const Words less{"less", "-FRX"};
  EXPECT_EQ(pager_command(nullptr, nullptr, true), less);
  EXPECT_EQ(pager_command(nullptr, "", true), less);
  EXPECT_EQ(pager_command(nullptr, "less", true), less);
  EXPECT_EQ(pager_command(nullptr, "more -d", true), (Words{"more", "-d"}));
  EXPECT_EQ(pager_command("most", "more", true), Words{"most"});
  EXPECT_EQ(pager_command("less -S", nullptr, true), (Words{"less", "-S"}));
}

TEST(PagerCommand, NoneIsWanted) {
  EXPECT_TRUE(pager_command("", "more", true).empty());
  EXPECT_TRUE(pager_command("cat", "more", true).empty());
  EXPECT_TRUE(pager_command(nullptr, " cat ", true).empty());
}

TEST(PagerCommand, IsNotHeardWhereItCouldDoHarm) {
  const Words less{"less", "-FRX"};
  EXPECT_EQ(pager_command("more", "more", false), less);
  EXPECT_EQ(pager_command("more; rm x", nullptr, true), less);
  EXPECT_EQ(pager_command(nullptr, "LESS=-S less", true), less);
  EXPECT_EQ(pager_command(nullptr, "less | tee x", true), less);
}

}  // namespace
}  // namespace mixstack::cli
