#include "frontends/cli/arguments.h"

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

TEST(MemoryArguments, MakersAreOfAProcessAndATime) {
  EXPECT_FALSE(parse_arguments({"memory", "7"}).memory.makers);
  const MemoryArguments plain = parse_arguments({"memory", "7", "--makers"}).memory;
  EXPECT_TRUE(plain.makers);
  EXPECT_EQ(plain.makers_time, std::chrono::seconds(2));
  EXPECT_EQ(parse_arguments({"memory", "7", "--makers", "-d", "500ms"}).memory.makers_time,
            std::chrono::milliseconds(500));
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"memory", "7", "-d", "2s"},
                                                {"memory", "core.1", "--makers"},
                                                {"memory", "7", "--makers", "--types"},
                                                {"memory", "7", "--makers", "-d", "1ms"},
                                                {"memory", "7", "--makers", "-d", "2d"}})
    EXPECT_EQ(parse_arguments(wrong).action, Action::usage_error) << wrong.back();
}

TEST(MemoryArguments, NativeGrowthIsOfAProcessAndATime) {
  const MemoryArguments plain = parse_arguments({"memory", "7", "--native"}).memory;
  EXPECT_TRUE(plain.native);
  EXPECT_EQ(plain.native_time, std::chrono::seconds(10));
  EXPECT_EQ(parse_arguments({"memory", "7", "--native", "-d", "3s"}).memory.native_time, std::chrono::seconds(3));
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"memory", "core.1", "--native"},
                                                {"memory", "7", "--native", "--makers"},
                                                {"memory", "7", "--native", "--after", "1s"},
                                                {"memory", "7", "--native", "-d", "1ms"},
                                                {"memory", "7", "--native", "-o", "a.html"},
                                                {"memory", "7", "--native", "-o", "a.mxm"}})
    EXPECT_EQ(parse_arguments(wrong).action, Action::usage_error) << wrong.back();
}

TEST(RecordArguments, BytesHaveNoRate) {
  EXPECT_EQ(parse_arguments({"record", "-p", "7", "--alloc"}).record.options.mode, RecordMode::allocations);
  EXPECT_EQ(parse_arguments({"record", "-p", "7", "-m", "alloc"}).record.options.mode, RecordMode::allocations);
  EXPECT_EQ(parse_arguments({"record", "-p", "7", "-m", "faults"}).record.options.mode, RecordMode::first_uses);
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"record", "-p", "7", "--alloc", "-m", "cpu"},
                                                {"record", "-p", "7", "--alloc", "-r", "99"},
                                                {"record", "-p", "7", "-m", "faults", "-r", "99"},
                                                {"top", "7", "-m", "alloc"}})
    EXPECT_EQ(parse_arguments(wrong).action, Action::usage_error) << wrong.back();
}

TEST(MemoryArguments, HoldersOfAllOrOfOneThing) {
  const MemoryArguments all = parse_arguments({"memory", "4711", "--holders"}).memory;
  EXPECT_TRUE(all.holders);
  EXPECT_EQ(all.holders_of, "");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"memory", "4711", "--holders", "Shop.Order"},
                                                {"memory", "--holders", "Shop.Order", "4711"},
                                                {"memory", "4711", "--holders=Shop.Order", "--json"}}) {
    const MemoryArguments of = parse_arguments(words).memory;
    EXPECT_TRUE(of.holders);
    EXPECT_EQ(of.holders_of, "Shop.Order");
    EXPECT_EQ(of.pid, 4711U);
  }
  // A word where a type may stand is the process, if there is no other.
  const MemoryArguments turned = parse_arguments({"memory", "--holders", "4711", "--json"}).memory;
  EXPECT_EQ(turned.pid, 4711U);
  EXPECT_EQ(turned.holders_of, "");
  EXPECT_EQ(parse_arguments({"memory", "core.1", "--holders"}).memory.core.path, "core.1");
  EXPECT_EQ(parse_arguments({"memory", "7", "--holders", "--most-pause", "2s"}).memory.most_pause,
            std::chrono::seconds(2));
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
