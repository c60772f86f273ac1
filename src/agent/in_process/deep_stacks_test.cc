#include "agent/in_process/deep_stacks.h"

#include <gtest/gtest.h>

#include <set>

namespace mixstack::agent {
namespace {

TEST(DeepStacks, AreEachOnesOwnUntilTheyAreGivenBack) {
  DeepStacks stacks;
  std::set<DeepStack*> taken;
  for (std::size_t i = 0; i < DeepStacks::kCount; i++) {
    DeepStack* const stack = stacks.take();
    ASSERT_NE(stack, nullptr);
    EXPECT_TRUE(taken.insert(stack).second);
    stack->addresses.back() = stack->methods.back() = 7;
  }
  EXPECT_EQ(stacks.take(), nullptr);
  stacks.give_back(nullptr);
  EXPECT_EQ(stacks.take(), nullptr);
  stacks.give_back(*taken.begin());
  EXPECT_EQ(stacks.take(), *taken.begin());
}

}  // namespace
}  // namespace mixstack::agent
