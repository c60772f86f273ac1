#include "output/formats/empty_view.h"

#include <gtest/gtest.h>

namespace mixstack::formats {
namespace {

TEST(EmptyView, PatternsThatDifferInCaseAlone) {
  Recording recording;
  ASSERT_TRUE(recording.function({.name = "Program.Main()"}));
  ASSERT_TRUE(recording.function({.name = "Program.Heavy()"}));
  const std::string words =
      "--include heavy: upper and lower case are told apart, and it is written otherwise in Program.Heavy()";
  EXPECT_EQ(words_on_case(recording, {"heavy"}), words);
  EXPECT_EQ(words_on_case(recording, {"Main", "nothing", "heavy"}), words);
  EXPECT_NE(words_on_case(recording, {"program.h*"}).find("Program.Heavy()"), std::string::npos);
  for (const char* pattern : {"Heavy", "nothing", "", "heavy*"})
    EXPECT_EQ(words_on_case(recording, {pattern}), "") << pattern;
  EXPECT_EQ(words_on_case(recording, {}), "");
}

TEST(EmptyView, TheReasonIsSaidWhereNothingIsShown) {
  const Recording none;
  EXPECT_NE(empty_words(none, Format::folded, {}).find("no samples"), std::string::npos);
  EXPECT_EQ(empty_words(none, Format::recording, {}), "") << "it holds all there is";
  EXPECT_EQ(empty_words(none, Format::html, {}), "");
}

}  // namespace
}  // namespace mixstack::formats
