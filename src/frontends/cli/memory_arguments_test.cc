#include "frontends/cli/memory_arguments.h"

#include <gtest/gtest.h>

#include "frontends/cli/arguments.h"

namespace mixstack::cli {
namespace {

using Action = Invocation::Action;

TEST(MemoryArguments, OneTarget) {
  EXPECT_EQ(parse_arguments({"memory", "4711"}).memory.pid, 4711U);
  EXPECT_EQ(parse_arguments({"memory", "-n", "orders"}).memory.name, "orders");
  EXPECT_EQ(parse_arguments({"memory", "core.1", "--types"}).memory.core.path, "core.1");
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"memory"}, {"memory", "7", "-n", "x"}, {"memory", "7", "--exe", "x"}})
    EXPECT_EQ(parse_arguments(wrong).action, Action::usage_error) << wrong.back();
}

TEST(MemoryArguments, ThePauseIsOfTypes) {
  EXPECT_EQ(parse_arguments({"memory", "7", "-t"}).memory.most_pause, std::chrono::milliseconds(50));
  EXPECT_EQ(parse_arguments({"memory", "7", "-t", "--most-pause", "2s"}).memory.most_pause, std::chrono::seconds(2));
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"memory", "7", "--most-pause", "2s"},
                                                {"memory", "core.1", "-t", "--most-pause", "2s"},
                                                {"memory", "7", "-t", "--most-pause", "2h"}})
    EXPECT_EQ(parse_arguments(wrong).action, Action::usage_error) << wrong.back();
}

TEST(MemoryArguments, TheFileTellsTheFormat) {
  const auto format_of = [](const std::string& out) {
    return parse_arguments({"memory", "7", "-o", out}).memory.format;
  };
  EXPECT_EQ(format_of("a.json"), MemoryFormat::json);
  EXPECT_EQ(format_of("a.txt"), MemoryFormat::text);
  EXPECT_EQ(format_of("a.html"), MemoryFormat::html);
  EXPECT_EQ(format_of("a.mxm"), MemoryFormat::moment);
  EXPECT_EQ(parse_arguments({"memory", "7", "--json", "-o", "-"}).memory.format, MemoryFormat::json);
  EXPECT_EQ(parse_arguments({"memory", "7", "-o", "a.png"}).action, Action::usage_error);
}

TEST(MemoryArguments, TwoMoments) {
  EXPECT_EQ(parse_arguments({"memory", "7", "--after", "90s"}).memory.after, std::chrono::seconds(90));
  const MemoryArguments files = parse_arguments({"memory", "diff", "a.mxm", "b.mxm", "-o", "c.html"}).memory;
  EXPECT_EQ(files.before_file, "a.mxm");
  EXPECT_EQ(files.after_file, "b.mxm");
  EXPECT_EQ(files.format, MemoryFormat::html);
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"memory", "diff"},
                                                {"memory", "diff", "a.mxm"},
                                                {"memory", "diff", "a.mxm", "b.mxm", "--types"},
                                                {"memory", "diff", "a.mxm", "b.mxm", "-o", "c.mxm"},
                                                {"memory", "7", "b.mxm"},
                                                {"memory", "7", "--after", "2h", "-o", "c.mxm"},
                                                {"memory", "core.1", "-t", "--after", "60s"},
                                                {"memory", "7", "--data"},
                                                {"memory", "7", "--after", "25h"}})
    EXPECT_EQ(parse_arguments(wrong).action, Action::usage_error) << wrong.back();
}

}  // namespace
}  // namespace mixstack::cli
