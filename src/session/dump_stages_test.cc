#include "session/dump_stages.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>

#include "support/source_folder.h"

namespace mixstack::session {
namespace {

std::string words_of(Part parts) {
  std::string words;
  for (std::uint32_t bit = 1; bit != 0; bit <<= 1)
    if (const Part one = static_cast<Part>(bit); (parts & one) != Part::none)
      words += (words.empty() ? "" : ", ") + std::string(part_name(one));
  return words;
}

TEST(DumpStages, AreDrawnAsTheyRun) {
  std::ifstream file(mixstack::test::source_folder() + "/docs/architecture.md");
  std::vector<std::string> drawn;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("| `")) drawn.push_back(line);
  ASSERT_EQ(drawn.size(), dump_stages().size());
  for (std::size_t i = 0; i < drawn.size(); i++) {
    const DumpStage& stage = dump_stages()[i];
    const std::string needs = stage.needs == Part::none ? " |" : " " + words_of(stage.needs) + " |";
    const std::string row = "| `" + std::string(stage.name) + "` |" + needs + " " + words_of(stage.makes) + " |";
    EXPECT_TRUE(drawn[i].starts_with(row)) << drawn[i] << "\nexpected\n" << row;
  }
}

TEST(DumpStages, HandOnNothingInVain) {
  Part needed = Part::checked;
  for (const DumpStage& stage : dump_stages()) needed = needed | stage.needs;
  for (const DumpStage& stage : dump_stages()) EXPECT_EQ(stage.makes & needed, stage.makes) << stage.name;
}

TEST(DumpStages, PartsHaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (std::uint32_t bit = 1; bit <= static_cast<std::uint32_t>(Part::checked); bit <<= 1)
    EXPECT_TRUE(names.insert(part_name(static_cast<Part>(bit))).second) << bit;
  EXPECT_FALSE(names.contains(""));
  EXPECT_EQ(part_name(Part::none), "");
  EXPECT_EQ(part_name(Part::late_traces), "late_traces");
}

}  // namespace
}  // namespace mixstack::session
