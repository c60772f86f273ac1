#include "frontends/cli/arguments.h"

#include <gtest/gtest.h>

#include <sstream>

#include "frontends/cli/arguments.h"

namespace mixstack::cli {
namespace {

TEST(TopArguments, OneProcessAndHowItIsShown) {
  const auto plain = parse_arguments({"top", "4711"});
  ASSERT_EQ(plain.action, Invocation::Action::top) << plain.text;
  EXPECT_EQ(plain.top.record.pids, std::vector<std::uint32_t>{4711});
  EXPECT_EQ(plain.top.interval, std::chrono::seconds(1));
  EXPECT_EQ(plain.top.count, 0u);
  EXPECT_EQ(plain.top.rows, 20u);
  const auto all = parse_arguments({"top",
                                    "-p",
                                    "7",
                                    "-m",
                                    "cpu",
                                    "-r",
                                    "99",
                                    "-d",
                                    "10",
                                    "--interval",
                                    "500ms",
                                    "--count",
                                    "3",
                                    "--rows",
                                    "5",
                                    "--whole",
                                    "-t",
                                    "-i",
                                    "--managed-only",
                                    "--kernel",
                                    "-I",
                                    "Cart*",
                                    "-X",
                                    "futex",
                                    "--no-stop",
                                    "--max-pause",
                                    "1%"});
  ASSERT_EQ(all.action, Invocation::Action::top) << all.text;
  EXPECT_EQ(all.top.record.options.mode, RecordMode::cpu);
  EXPECT_EQ(all.top.record.options.hertz, 99u);
  EXPECT_EQ(all.top.record.options.duration, std::chrono::seconds(10));
  EXPECT_EQ(all.top.interval, std::chrono::milliseconds(500));
  EXPECT_EQ(all.top.count, 3u);
  EXPECT_EQ(all.top.rows, 5u);
  EXPECT_TRUE(all.top.whole && all.top.by_thread && all.top.record.shown.idle && all.top.record.shown.managed_only);
  EXPECT_TRUE(all.top.record.options.kernel && !all.top.record.options.may_stop);
  EXPECT_EQ(all.top.record.shown.include, std::vector<std::string>{"Cart*"});
  EXPECT_EQ(all.top.record.shown.exclude, std::vector<std::string>{"futex"});
  EXPECT_DOUBLE_EQ(all.top.record.options.most_held, 0.01);
  EXPECT_EQ(parse_arguments({"top", "-n", "orders-api"}).top.record.name, "orders-api");
}

TEST(TopArguments, WhatIsWrongIsSaid) {
  const std::vector<std::vector<std::string>> lines = {{"top"},
                                                       {"top", "x"},
                                                       {"top", "0"},
                                                       {"top", "1", "2"},
                                                       {"top", "-p", "1,2"},
                                                       {"top", "1", "-n", "x"},
                                                       {"top", "1", "--interval", "99ms"},
                                                       {"top", "1", "--interval", "x"},
                                                       {"top", "1", "--count", "0"},
                                                       {"top", "1", "--rows", "-1"},
                                                       {"top", "1", "-m", "x"},
                                                       {"top", "1", "--max-pause", "x"},
                                                       {"top", "1", "-o", "x"}};
  for (const auto& line : lines) {
    const auto result = parse_arguments(line);
    EXPECT_EQ(result.action, Invocation::Action::usage_error) << line.back();
    EXPECT_FALSE(result.text.empty());
  }
  EXPECT_NE(parse_arguments({"top", "web"}).text.find("mixstack top -n web"), std::string::npos);
}

}  // namespace
}  // namespace mixstack::cli
