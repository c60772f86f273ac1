#include "agent/in_process/method_numbers.h"

#include <gtest/gtest.h>

namespace mixstack::agent {
namespace {

TEST(MethodNumbers, AMethodKeepsItsNumber) {
  MethodNumbers table;
  const auto a = table.number_of(0x1000, ""), b = table.number_of(0x2000, "b");
  EXPECT_NE(a, 0u);
  EXPECT_NE(a, b);
  EXPECT_EQ(table.number_of(0x1000, "later"), a);
  EXPECT_EQ(table[a].id, 0x1000u);
  EXPECT_EQ(table[a].name, "");
  EXPECT_EQ(table[b].name, "b");
  EXPECT_EQ(table[0].id, 0u);
  EXPECT_EQ(table[77].id, 0u);
}

TEST(MethodNumbers, AnIdThatIsUsedAgainIsAnotherMethod) {
  MethodNumbers table;
  const auto before = table.number_of(0x1000, "before");
  EXPECT_EQ(table.forget(0x1000), before);
  EXPECT_EQ(table.forget(0x1000), 0u);
  EXPECT_FALSE(table.knows(0x1000));
  const auto after = table.number_of(0x1000, "after");
  EXPECT_NE(after, before);
  EXPECT_EQ(table[before].name, "before") << "what was sampled then";
  EXPECT_EQ(table[before].id, 0u) << "and nobody is asked about it";
  EXPECT_EQ(table[after].name, "after");
}

}  // namespace
}  // namespace mixstack::agent
