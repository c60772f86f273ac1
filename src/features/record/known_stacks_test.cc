#include "features/record/known_stacks.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace mixstack::record {
namespace {

std::vector<CodeAddress> stack_of(std::vector<Address> addresses) {
  std::vector<CodeAddress> stack;
  for (const Address a : addresses) stack.push_back(stack.empty() ? CodeAddress::exact(a) : CodeAddress::after_call(a));
  return stack;
}

TEST(KnownStacks, TellsStacksApart) {
  const KnownStacks known(1);
  std::set<std::pair<std::uint64_t, std::uint64_t>> keys;
  std::size_t made = 0;
  const auto add = [&](const std::vector<CodeAddress>& user, const std::vector<Address>& kernel) {
    const auto key = known.key(user, kernel);
    EXPECT_EQ(key, known.key(user, kernel));
    keys.emplace(key.low, key.high);
    made++;
  };
  add({}, {});
  for (Address a = 0; a < 64; a++) {
    add(stack_of({a}), {});
    add(std::vector{CodeAddress::after_call(a)}, {});  // where code was interrupted, or called
    add({}, {a});
    add(stack_of({1}), {a});
    for (Address b = 0; b < 64; b++) add(stack_of({a, b}), {});
  }
  add(stack_of({1, 2, 3}), {});
  add(stack_of({1, 2}), {3});
  add(stack_of({2, 1, 3}), {});
  EXPECT_EQ(keys.size(), made);
}

TEST(KnownStacks, AnotherSeedMakesOtherKeys) {
  const auto stack = stack_of({0x7f0000001000, 0x7f0000002000});
  EXPECT_NE(KnownStacks(1).key(stack, {}), KnownStacks(2).key(stack, {}));
}

TEST(KnownStacks, WhatMayBeFreedIsKnownToOneWalkerOnly) {
  KnownStacks known(7);
  const auto stays = known.key(stack_of({1, 2}), {}), moves = known.key(stack_of({3, 2}), {});
  known.remember(stays, {11, true}, true);
  known.remember(moves, {12, false}, false);
  ASSERT_NE(known.find(stays), nullptr);
  ASSERT_NE(known.find(moves), nullptr);
  EXPECT_EQ(*known.find(moves), (KnownStack{12, false}));
  known.begin_walker(true);
  ASSERT_NE(known.find(stays), nullptr);
  EXPECT_EQ(*known.find(stays), (KnownStack{11, true}));
  EXPECT_EQ(known.find(moves), nullptr);
  known.begin_walker(false);
  EXPECT_EQ(known.find(stays), nullptr);
}

TEST(KnownStacks, IsBounded) {
  KnownStacks known(7);
  const auto first = known.key(stack_of({0x10000, 0}), {});
  known.remember(first, {1, false}, true);
  for (Address a = 0; a < KnownStacks::kMost; a++) known.remember(known.key(stack_of({a, 1}), {}), {2, false}, true);
  EXPECT_EQ(known.find(first), nullptr);
}

}  // namespace
}  // namespace mixstack::record
