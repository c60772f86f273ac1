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
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"memory"},
                                                {"memory", "7", "-n", "x"},
                                                {"memory", "core.1"},
                                                {"memory", "7", "--exe", "x"}})
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

TEST(RecordArguments, BytesHaveNoRate) {
  EXPECT_EQ(parse_arguments({"record", "-p", "7", "--alloc"}).record.mode, RecordMode::alloc);
  EXPECT_EQ(parse_arguments({"record", "-p", "7", "-m", "alloc"}).record.mode, RecordMode::alloc);
  EXPECT_EQ(parse_arguments({"record", "-p", "7", "-m", "faults"}).record.mode, RecordMode::faults);
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"record", "-p", "7", "--alloc", "-m", "cpu"},
                                                {"record", "-p", "7", "--alloc", "-r", "99"},
                                                {"record", "-p", "7", "-m", "faults", "-r", "99"},
                                                {"top", "7", "-m", "alloc"}})
    EXPECT_EQ(parse_arguments(wrong).action, Action::usage_error) << wrong.back();
}

TEST(MemoryArguments, TheFileTellsTheFormat) {
  EXPECT_TRUE(parse_arguments({"memory", "7", "-o", "a.json"}).memory.json);
  EXPECT_FALSE(parse_arguments({"memory", "7", "-o", "a.txt"}).memory.json);
  EXPECT_EQ(parse_arguments({"memory", "7", "-o", "a.png"}).action, Action::usage_error);
}

}  // namespace
}  // namespace mixstack::cli
