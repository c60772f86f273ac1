#include "frontends/cli/arguments.h"

#include <gtest/gtest.h>

#include "frontends/cli/arguments.h"

namespace mixstack::cli {
namespace {

TEST(WhyArguments, TheFileTellsTheFormat) {
  const auto of = [](const char* file) { return parse_arguments({"why", "7", "-o", file}).why; };
  EXPECT_TRUE(of("a.json").json);
  EXPECT_TRUE(of("a.dot").dot);
  EXPECT_TRUE(of("a.html").html);
  const WhyArguments text = of("a.txt");
  EXPECT_FALSE(text.json || text.dot || text.html);
  EXPECT_EQ(text.out, "a.txt");
  const auto wrong = parse_arguments({"why", "7", "-o", "a\x1b.png"});
  EXPECT_EQ(wrong.action, Invocation::Action::usage_error);
  EXPECT_EQ(wrong.text, "the end of a\\x1b.png tells no format: .html, .txt, .json, .dot");
  // An option overrides the format by the file's name.
  const auto said = parse_arguments({"why", "7", "--json", "-o", "a.txt"});
  EXPECT_TRUE(said.why.json);
}

TEST(WhyArguments, Samples) {
  EXPECT_FALSE(parse_arguments({"why", "7"}).why.sample);
  EXPECT_EQ(parse_arguments({"why", "7", "--sample", "0"}).why.sample, std::chrono::milliseconds(0));
  EXPECT_EQ(parse_arguments({"why", "7", "--sample", "500ms"}).why.sample, std::chrono::milliseconds(500));
  for (const char* time : {"x", "-1", "11m"})
    EXPECT_EQ(parse_arguments({"why", "7", "--sample", time}).action, Invocation::Action::usage_error) << time;
  EXPECT_EQ(parse_arguments({"why", "core.1", "--sample", "1"}).action, Invocation::Action::usage_error);
}

}  // namespace
}  // namespace mixstack::cli
