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
  EXPECT_TRUE(parse_arguments({"memory", "7", "-o", "a.json"}).memory.json);
  EXPECT_FALSE(parse_arguments({"memory", "7", "-o", "a.txt"}).memory.json);
  EXPECT_EQ(parse_arguments({"memory", "7", "-o", "a.png"}).action, Action::usage_error);
}

}  // namespace
}  // namespace mixstack::cli
