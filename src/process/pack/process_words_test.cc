#include "process/pack/process_words.h"

#include <gtest/gtest.h>

namespace mixstack::pack {
namespace {

using namespace std::string_view_literals;

TEST(ProcessWords, AnEnvironmentIsNamesAndValues) {
  EXPECT_FALSE(is_overwritten_environment(""));
  EXPECT_FALSE(is_overwritten_environment("A=1\0B=\0C=x=y\0"sv));
  EXPECT_FALSE(is_overwritten_environment("A=1\0B=cut of"sv)) << "without its end";
}

TEST(ProcessWords, ATitleAndZerosAreNone) {
  EXPECT_TRUE(is_overwritten_environment("\0\0\0\0"sv));
  EXPECT_TRUE(is_overwritten_environment("ter process\0\0\0\0"sv)) << "the end of a title";
  EXPECT_TRUE(is_overwritten_environment("\0\0\0HOME=/root\0"sv)) << "a shorter one";
}

TEST(ProcessWords, StringsThatWereLeftBehindAreSecretsToo) {
  ProcessWords words;
  words.environment = {"TITLE"};
  words.on_stack_words = {"KEY=of the stack", "x86_64"};
  EXPECT_EQ(words.secrets({}, "", true, true), std::vector<std::string>{"of the stack"});
}

}  // namespace
}  // namespace mixstack::pack
