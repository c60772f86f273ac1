#include "base/words/view_tree.h"

#include <gtest/gtest.h>

namespace mixstack {
namespace {

/// main calls f, f calls itself and g.
RecordingView recursion() {
  RecordingView view;
  view.entries = {{.name = "main"}, {.name = "f"}, {.name = "g"}};
  view.nodes = {{0, 0}, {0, 0}, {1, 1}, {2, 1}, {3, 2}, {1, 2}};
  view.samples = {{.node = 2, .count = 1}, {.node = 3, .count = 2}, {.node = 4, .count = 4}, {.node = 5, .count = 8}};
  return view;
}

TEST(ViewTree, AFunctionThatCallsItselfCountsOnceAStack) {
  const auto counts = entry_counts(recursion());
  EXPECT_EQ(counts[0].total, 15u);
  EXPECT_EQ(counts[0].self, 0u);
  EXPECT_EQ(counts[1].total, 7u);
  EXPECT_EQ(counts[1].self, 3u);
  EXPECT_EQ(counts[2].total, 12u);
}

TEST(ViewTree, ChildrenInTheOrderAskedFor) {
  const RecordingView view = recursion();
  const auto total = view.total_counts();
  const ViewTree tree(view, [&](std::uint32_t a, std::uint32_t b) { return total[a] > total[b]; });
  ASSERT_EQ(tree.children(1).size(), 2u);
  EXPECT_EQ(tree.children(1)[0], 5u);
  std::vector<std::uint32_t> entered, left;
  tree.walk(
      [&](std::uint32_t n) {
        entered.push_back(n);
        return n != 2;
      },
      [&](std::uint32_t n) { left.push_back(n); });
  EXPECT_EQ(entered, (std::vector<std::uint32_t>{1, 5, 2}));
  EXPECT_EQ(left, (std::vector<std::uint32_t>{5, 2, 1}));
}

}  // namespace
}  // namespace mixstack
