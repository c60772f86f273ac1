#include "dotnet/holders/dominators.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>

namespace mixstack::dotnet::holders {
namespace {

using Edges = std::vector<std::vector<Node>>;

Graph graph_of(const Edges& edges) {
  Graph graph;
  for (const auto& node : edges) {
    for (const Node to : node) graph.add(to);
    graph.close_node();
  }
  return graph;
}

/// All that can be reached from `from` without `without`.
std::set<Node> reached(const Edges& edges, Node from, Node without = kNoNode) {
  std::set<Node> seen;
  std::vector<Node> open;
  if (from != without) open.push_back(from);
  while (!open.empty()) {
    const Node at = open.back();
    open.pop_back();
    if (!seen.insert(at).second) continue;
    for (const Node to : edges[at])
      if (to != without) open.push_back(to);
  }
  return seen;
}

/// Each node is taken away, and what cannot be reached any more must be what it dominates.
void check(const Edges& edges, Node root) {
  const std::array roots{root};
  const DominatorTree tree = dominators(graph_of(edges), roots);
  const std::set<Node> all = reached(edges, root);
  ASSERT_EQ(tree.order.size(), all.size());
  EXPECT_EQ(tree.roots, std::vector<std::uint32_t>{0});
  std::vector<std::set<Node>> held(tree.order.size());
  for (std::uint32_t w = static_cast<std::uint32_t>(tree.order.size()); w-- > 0;) {
    held[w].insert(tree.order[w]);
    if (w == 0) break;
    ASSERT_LT(tree.above[w], w);
    held[tree.above[w]].insert(held[w].begin(), held[w].end());
  }
  for (std::uint32_t w = 0; w < tree.order.size(); w++) {
    const std::set<Node> rest = reached(edges, root, tree.order[w]);
    std::set<Node> lost;
    for (const Node n : all)
      if (!rest.contains(n)) lost.insert(n);
    EXPECT_EQ(held[w], lost) << "node " << tree.order[w];
  }
}

TEST(Graph, KnowsItsEdgesByTheirBits) {
  std::minstd_rand engine(3);
  Edges edges(3000);
  for (auto& node : edges)
    node.resize(engine() % 50 == 0 ? engine() % 700 : engine() % 3, static_cast<Node>(engine() % 3000));
  edges[1234].assign(20'000, 7);
  const Graph graph = graph_of(edges);
  ASSERT_EQ(graph.nodes(), edges.size());
  Edges told(edges.size());
  graph.each_edge([&](Node node, std::uint32_t edge, Node to, Node /*later*/) {
    told[node].push_back(to);
    ASSERT_EQ(graph.node_of(edge), node);
    ASSERT_EQ(graph.to(node, edge), to);
  });
  EXPECT_EQ(told, edges);
  for (Node node = 0; node < graph.nodes(); node++) {
    std::vector<Node> of;
    for (std::uint32_t e = graph.begin(node); !graph.is_end(e); e++) of.push_back(graph.to(node, e));
    ASSERT_EQ(of, edges[node]);
  }
}

TEST(Dominators, OfADiamondAndALoop) {
  check({{1, 2}, {3}, {3}, {4}, {3, 5}, {}, {0}}, 0);
  check({{0}}, 0);
  check({{1}, {2, 0}, {1}}, 0);
}

TEST(Dominators, OfRandomGraphs) {
  std::minstd_rand engine(7);
  const auto random = [&] { return static_cast<Node>(engine()); };
  for (int round = 0; round < 300; round++) {
    const Node n = 2 + random() % 40;
    Edges edges(n);
    const unsigned count = n + random() % (2 * n);
    for (unsigned i = 0; i < count; i++) edges[random() % n].push_back(random() % n);
    check(edges, random() % n);
  }
}

TEST(Dominators, OfALongListWithoutRecursion) {
  constexpr Node kLong = 300'000;
  Edges edges(kLong);
  for (Node i = 0; i + 1 < kLong; i++) edges[i] = {i + 1};
  edges[kLong - 1] = {0, 5};
  const DominatorTree tree = dominators(graph_of(edges), std::array<Node, 1>{0});
  ASSERT_EQ(tree.order.size(), kLong);
  for (std::uint32_t w = 1; w < kLong; w++) ASSERT_EQ(tree.above[w], w - 1);
}

TEST(Dominators, ASecondRootTakesNothingFromTheFirst) {
  // 0 holds 1, which holds 2; 3 is the second root: it reaches 2 itself, and 4, which refers to 1.
  const Edges edges{{1}, {2}, {}, {2, 4}, {1, 5}, {}};
  const DominatorTree tree = dominators(graph_of(edges), std::array<Node, 2>{0, 3});
  ASSERT_EQ(tree.order, (std::vector<Node>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(tree.roots, (std::vector<std::uint32_t>{0, 3}));
  EXPECT_EQ(tree.above, (std::vector<std::uint32_t>{0, 0, 1, 0, 3, 4}));
}

TEST(Dominators, EachLaterRootTakesWhatIsLeft) {
  // 0 holds 1; 2 holds 3 and refers to 1; 4 refers to 3 and to 1, and holds 5 and 6, which refers to 3.
  const Edges edges{{1}, {}, {3, 1}, {}, {3, 1, 5, 6}, {}, {3, 5}};
  const DominatorTree tree = dominators(graph_of(edges), std::array<Node, 3>{0, 2, 4});
  ASSERT_EQ(tree.order, (std::vector<Node>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(tree.roots, (std::vector<std::uint32_t>{0, 2, 4}));
  EXPECT_EQ(tree.above, (std::vector<std::uint32_t>{0, 0, 0, 2, 0, 4, 4}));
}

}  // namespace
}  // namespace mixstack::dotnet::holders
