#include "output/report/profile_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace mixstack::report {
namespace {

Profile sample_profile() {
  Profile profile;
  profile.pid = 7;
  profile.runtime = "10.0.12";
  profile.cpu_hertz = 100;
  profile.threads[8] = "wor\nker";
  const auto main = *profile.frame({FrameKind::managed, "Program.Main", "app.dll"});
  const auto wait = *profile.frame({FrameKind::native, "wait;\x1b[2J", "libc.so.6"});
  profile.add({8, SampleState::cpu, StopReason::end_of_stack, {wait, main}}, 3);
  profile.add({9, SampleState::cpu, StopReason::end_of_stack, {wait, main}}, 4);
  profile.add({9, SampleState::cpu, StopReason::no_unwind_info, {wait}}, 1);
  return profile;
}

TEST(ProfileReport, CollapsedLinesAreStacksOfNames) {
  const Profile profile = sample_profile();
  EXPECT_EQ(collect([&](Writer& out) { write_collapsed(out, profile); }),
            "Program.Main;wait:\\x1b[2J 7\n[cut: no_unwind_info];wait:\\x1b[2J 1\n");
}

TEST(ProfileReport, WithWallTimeEachLineSaysWhatTheThreadDid) {
  Profile profile = sample_profile();
  profile.wall_hertz = 10;
  profile.add({8, SampleState::waiting, StopReason::end_of_stack, {0}}, 2);
  EXPECT_EQ(collect([&](Writer& out) { write_collapsed(out, profile); }),
            "[cpu];Program.Main;wait:\\x1b[2J 7\n[cpu];[cut: no_unwind_info];wait:\\x1b[2J 1\n"
            "[waiting];Program.Main 2\n");
}

TEST(ProfileReport, DoubtIsSaidBetweenTheFramesItConcerns) {
  Profile profile = sample_profile();
  const auto inner = *profile.frame({FrameKind::native, "inner", ""});
  profile.add({8, SampleState::cpu, StopReason::end_of_stack, {inner, 1, 0}, 2}, 5);
  const std::string lines = collect([&](Writer& out) { write_collapsed(out, profile); });
  EXPECT_NE(lines.find("Program.Main;wait:\\x1b[2J;[in doubt up to here];inner 5\n"), std::string::npos) << lines;
  const auto json = nlohmann::json::parse(collect([&](Writer& out) { write_profile_json(out, profile); }));
  EXPECT_EQ(json.at("stacks").at(1).at("doubtful_frames"), 2);
}

TEST(ProfileReport, JsonHasEverything) {
  Profile profile = sample_profile();
  profile.account.samples = 8;
  profile.account.lost = 2;
  const auto json = nlohmann::json::parse(collect([&](Writer& out) { write_profile_json(out, profile); }));
  EXPECT_EQ(json.at("format"), "mixstack-profile");
  EXPECT_EQ(json.at("account").at("lost"), 2);
  EXPECT_EQ(json.at("threads").at(0).at("name"), "wor\nker");
  ASSERT_EQ(json.at("stacks").size(), 3u);
  const auto& stack = json.at("stacks").at(0);
  EXPECT_EQ(stack.at("count"), 3);
  EXPECT_EQ(stack.at("tid"), 8);
  EXPECT_EQ(json.at("frames").at(stack.at("frames").at(1).get<std::size_t>()).at("name"), "Program.Main");
}

}  // namespace
}  // namespace mixstack::report
