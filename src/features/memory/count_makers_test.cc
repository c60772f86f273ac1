#include <gtest/gtest.h>

#include "base/words/made_names.h"
#include "mixstack/ask_makers.h"

namespace mixstack {
namespace {

class CountMakersTest : public ::testing::Test {
 protected:
  CountMakersTest() {
    const auto process = recording_.process({.pid = 7});
    const auto thread = recording_.add_thread({.process = *process, .tid = 7});
    context_ = *recording_.context({.thread = *thread, .clock = SampleClock::bytes, .activity = Activity::running});
  }
  std::uint32_t frame(const std::string& name, bool is_user) {
    const auto function = recording_.function({.name = name, .is_user = is_user});
    return *recording_.frame({.function = *function});
  }
  /// Outermost first; names of the program's own code begin with "Shop.".
  void add(const std::vector<std::string>& names, std::uint32_t bytes) {
    std::uint32_t node = 0;
    for (const std::string& name : names) node = *recording_.node({node, frame(name, name.starts_with("Shop."))});
    EXPECT_TRUE(recording_.add({.stack = node, .context = context_, .count = bytes}));
  }

  Recording recording_;
  std::uint32_t context_ = 0;
};

TEST_F(CountMakersTest, TypesAndTheInnermostCodeOfTheProgram) {
  add({"Shop.Main", "Shop.Load", "List.Add", made_name("int[]")}, 500);
  add({"Shop.Main", "Shop.Load", made_name("Shop.Order")}, 100);
  add({"Shop.Main", "Shop.Save", "String.Concat", made_name("string")}, 200);
  add({"Shop.Main", "Shop.Save", made_name("")}, 50);
  add({std::string(kUnplaced)}, 1000);
  MemoryMakers makers;
  count_makers(recording_, makers);
  EXPECT_EQ(makers.sampled, 850u);
  EXPECT_EQ(makers.without_type, 50u);
  ASSERT_EQ(makers.types.size(), 3u);
  EXPECT_EQ(makers.types[0].name, "int[]");
  EXPECT_EQ(makers.types[0].bytes, 500u);
  EXPECT_EQ(makers.types[0].type_or_place, "Shop.Load");
  ASSERT_EQ(makers.places.size(), 2u);
  EXPECT_EQ(makers.places[0].name, "Shop.Load");
  EXPECT_EQ(makers.places[0].bytes, 600u);
  EXPECT_EQ(makers.places[0].type_or_place, "int[]");
  EXPECT_EQ(makers.places[1].bytes, 250u);
}

TEST_F(CountMakersTest, WithoutCodeOfTheProgramTheInnermostMethod) {
  add({"Thread.Start", "Timer.Fire", made_name("string")}, 10);
  MemoryMakers makers;
  count_makers(recording_, makers);
  ASSERT_EQ(makers.places.size(), 1u);
  EXPECT_EQ(makers.places[0].name, "Timer.Fire");
}

TEST(MadeNames, TellTheirTypes) {
  EXPECT_EQ(made_type(made_name("Shop.Order")), "Shop.Order");
  EXPECT_EQ(made_type(made_name("")), "");
  EXPECT_EQ(made_type("newest"), "");
}

}  // namespace
}  // namespace mixstack
