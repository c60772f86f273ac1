#include "frontends/cli/arguments.h"

#include <gtest/gtest.h>

#include <sstream>

#include "frontends/cli/arguments.h"

namespace mixstack::cli {
namespace {

TEST(ConvertArguments, TheFormatComesFromTheNameOrTheWord) {
  const auto by_name = parse_arguments({"convert", "a.mxr", "-o", "b.pb.gz", "-t", "-X", "futex*"});
  ASSERT_EQ(by_name.action, Invocation::Action::convert) << by_name.text;
  EXPECT_EQ(by_name.convert.format, formats::Format::pprof);
  EXPECT_TRUE(by_name.convert.options.by_thread);
  EXPECT_EQ(by_name.convert.options.exclude, std::vector<std::string>{"futex*"});
  const auto by_word = parse_arguments({"convert", "-", "-f", "speedscope", "--state", "waiting,gc", "--no-kernel"});
  ASSERT_EQ(by_word.action, Invocation::Action::convert) << by_word.text;
  EXPECT_EQ(by_word.convert.out, "-");
  EXPECT_EQ(by_word.convert.format, formats::Format::speedscope);
  EXPECT_TRUE(by_word.convert.options.gc_only);
  EXPECT_EQ(by_word.convert.options.activities, activity_bit(Activity::waiting));
  EXPECT_FALSE(by_word.convert.options.kernel);
  const auto plain = parse_arguments({"convert", "a.mxr"});
  EXPECT_EQ(plain.convert.format, formats::Format::text);
  EXPECT_FALSE(plain.convert.symbol_path);
  EXPECT_FALSE(plain.convert.quiet);
  EXPECT_TRUE(parse_arguments({"convert", "a.mxr", "-q"}).convert.quiet);
  EXPECT_TRUE(parse_arguments({"diff", "a.mxr", "b.mxr", "--quiet"}).diff.quiet);
  EXPECT_EQ(parse_arguments({"convert", "a.mxr", "--symbol-path", "/x;/y"}).convert.symbol_path, "/x;/y");
}

TEST(ConvertArguments, WhatIsWrongIsSaid) {
  const std::vector<std::vector<std::string>> lines = {{"convert"},
                                                       {"convert", "a.mxr", "-o", "b.json"},
                                                       {"convert", "a.mxr", "-f", "jpeg"},
                                                       {"convert", "a.mxr", "--state", "asleep"},
                                                       {"convert", "a.mxr", "--clock", "moon"},
                                                       {"diff", "a.mxr"},
                                                       {"diff", "a.mxr", "b.mxr", "-o", "c.pb.gz"}};
  for (const auto& line : lines) {
    const auto invocation = parse_arguments(line);
    EXPECT_EQ(invocation.action, Invocation::Action::usage_error) << line.back();
    EXPECT_FALSE(invocation.text.empty());
  }
}

}  // namespace
}  // namespace mixstack::cli
