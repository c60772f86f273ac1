#include "base/words/name_pattern.h"

#include <gtest/gtest.h>

#include <string>

namespace mixstack {
namespace {

TEST(NamePattern, AWordIsLookedForAnywhere) {
  EXPECT_TRUE(name_matches("Serialize", "Json.Serializer.Serialize(object)"));
  EXPECT_TRUE(name_matches("", "anything"));
  EXPECT_FALSE(name_matches("serialize", "Json.Serializer.Serialize(object)"));
}

TEST(NamePattern, StarsAndQuestionMarksMatchTheWholeName) {
  EXPECT_TRUE(name_matches("Json.*", "Json.Serializer.Serialize(object)"));
  EXPECT_FALSE(name_matches("Serializer.*", "Json.Serializer.Serialize(object)"));
  EXPECT_TRUE(name_matches("*Serializer.*", "Json.Serializer.Serialize(object)"));
  EXPECT_TRUE(name_matches("f?o", "foo"));
  EXPECT_FALSE(name_matches("f?o", "fo"));
  EXPECT_TRUE(name_matches("*a*b", "xaxbxab"));
  EXPECT_FALSE(name_matches("*a*b", "xaxbxa"));
  EXPECT_TRUE(name_matches("*", ""));
  EXPECT_FALSE(name_matches("?", ""));
}

TEST(NamePattern, NoPatternTakesForEver) {
  std::string pattern;
  for (int i = 0; i < 200; i++) pattern += "a*";
  EXPECT_FALSE(name_matches(pattern + "b", std::string(20'000, 'a')));
}

}  // namespace
}  // namespace mixstack
