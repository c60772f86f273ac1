#include "formats/difference.h"

#include <gtest/gtest.h>

#include "formats/folded_reader.h"

namespace mixstack::formats {
namespace {

std::string written(void (*write)(report::Writer&, const Recording&, const Recording&, const ProfileOptions&),
                    std::string_view before, std::string_view after) {
  const auto a = read_folded(before), b = read_folded(after);
  EXPECT_TRUE(a && b);
  return report::collect([&](report::Writer& out) { write(out, *a, *b, {}); });
}

TEST(Difference, StacksOfBothWithCountsOfEach) {
  EXPECT_EQ(written(write_diff_folded, "main;a 60\nmain;b 40\n", "main;a 50\nmain;c 50\n"),
            "main;a 60 50\nmain;b 40 0\nmain;c 0 50\n");
}

TEST(Difference, CountsOfDifferentTotalsAreScaled) {
  EXPECT_EQ(written(write_diff_folded, "a 6\nb 4\n", "a 50\nb 50\n"), "a 60 50\nb 40 50\n");
}

TEST(Difference, FunctionsThatChangedMostComeFirst) {
  const std::string text = written(write_diff_text, "main;a 60\nmain;b 40\n", "main;a 20\nmain;c 80\n");
  const std::string self = text.substr(text.find("function itself"));
  EXPECT_NE(self.find("    0.0%    80.0%    +80.0  c\n   60.0%    20.0%    -40.0  a\n   40.0%     0.0%    -40.0  b\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("main\n"), std::string::npos);
}

TEST(Difference, OfNothingIsSaid) {
  const auto some = read_folded("a 1\n");
  const std::string text = report::collect([&](report::Writer& out) { write_diff_text(out, *some, Recording(), {}); });
  EXPECT_NE(text.find("no samples to compare"), std::string::npos);
}

}  // namespace
}  // namespace mixstack::formats
