#include "base/words/profile.h"

#include <gtest/gtest.h>

namespace mixstack {
namespace {

TEST(Profile, EqualStacksAreCountedTogether) {
  Profile profile;
  const auto a = profile.frame({FrameKind::managed, "A.Run", "a"}),
             b = profile.frame({FrameKind::native, "A.Run", "a"});
  ASSERT_TRUE(a && b);
  EXPECT_NE(*a, *b) << "one managed, one native";
  EXPECT_EQ(profile.frame({FrameKind::managed, "A.Run", "a"}), a);
  const Profile::Stack stack{7, SampleState::cpu, StopReason::end_of_stack, {*a, *b}};
  Profile::Stack waits = stack, cut = stack, turned = stack;
  waits.state = SampleState::waiting, cut.stop = StopReason::no_unwind_info, turned.frames = {*b, *a};
  for (const Profile::Stack& s : {stack, waits, cut, turned, stack}) EXPECT_TRUE(profile.add(s, 2));
  ASSERT_EQ(profile.stacks().size(), 4u);
  EXPECT_EQ(profile.stacks().at(stack), 4u);
  EXPECT_EQ(profile.stacks().at(turned), 2u);
}

TEST(Profile, ItsSizeIsBounded) {
  Profile profile;
  const auto frame = profile.frame({FrameKind::native, "a", {}});
  Profile::Stack stack{0, SampleState::cpu, StopReason::max_frames, std::vector<std::uint32_t>(1u << 16, *frame)};
  std::size_t taken = 0;
  for (stack.tid = 0; stack.tid < 300; stack.tid++)
    if (profile.add(stack, 1)) taken++;
  EXPECT_EQ(taken, Profile::kMostPlaces >> 16);
  stack.tid = 0;
  EXPECT_TRUE(profile.add(stack, 1)) << "one that is there is counted";
}

TEST(Profile, AShortenedStackSaysSo) {
  Profile::Stack stack{1, SampleState::cpu, StopReason::end_of_stack, {1, 2, 3, 4, 5}, 3};
  stack.shorten(5);
  EXPECT_EQ(stack.stop, StopReason::end_of_stack) << "nothing was left out";
  stack.shorten(3);
  EXPECT_EQ(stack, (Profile::Stack{1, SampleState::cpu, StopReason::max_frames, {1, 2, 3}, 1}));
  stack.shorten(1);
  EXPECT_EQ(stack.doubtful, 0u);
}

TEST(Profile, SaysThatHalfOfItIsTaken) {
  Profile profile;
  Profile::Stack stack{0, SampleState::cpu, StopReason::end_of_stack, std::vector<std::uint32_t>(1u << 16)};
  for (; stack.tid < Profile::kMostPlaces >> 17; stack.tid++) {
    EXPECT_FALSE(profile.is_crowded());
    ASSERT_TRUE(profile.add(stack, 1));
  }
  EXPECT_FALSE(profile.is_crowded());
  ASSERT_TRUE(profile.add(stack, 1));
  EXPECT_TRUE(profile.is_crowded());
}

}  // namespace
}  // namespace mixstack
