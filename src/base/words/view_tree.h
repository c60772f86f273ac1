// A view as a tree, and its counts by function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/words/recording_view.h"

namespace mixstack {

/// The children of each node of a view, in a chosen order.
class ViewTree {
 public:
  using Before = std::function<bool(std::uint32_t a, std::uint32_t b)>;
  /// `before` compares two nodes of one parent; without it they stay in the order of their numbers.
  explicit ViewTree(const RecordingView& view, const Before& before = {});
  [[nodiscard]] std::span<const std::uint32_t> children(std::uint32_t node) const {
    return {children_.data() + first_[node], first_[node + 1] - first_[node]};
  }

  /// Depth first, without the root: `enter(node)` returns whether to visit its children; `leave(node)` follows in any
  /// case. No recursion: stacks may be deep.
  template <class Enter, class Leave>
  void walk(Enter enter, Leave leave) const {
    struct Level {
      std::uint32_t node;
      std::size_t next;
    };
    std::vector<Level> levels{{0, 0}};
    while (!levels.empty()) {
      Level& level = levels.back();
      const auto all = children(level.node);
      if (level.next < all.size()) {
        const std::uint32_t child = all[level.next++];
        if (enter(child)) {
          levels.push_back({child, 0});
        } else {
          leave(child);
        }
        continue;
      }
      const std::uint32_t done = level.node;
      levels.pop_back();
      if (done != 0) leave(done);
    }
  }

 private:
  std::vector<std::size_t> first_;
  std::vector<std::uint32_t> children_;
};

/// Counts of one entry of a view; a function that calls itself counts once a stack.
struct EntryCounts {
  std::uint64_t self = 0, total = 0;
};
/// By entry.
[[nodiscard]] std::vector<EntryCounts> entry_counts(const RecordingView& view);

}  // namespace mixstack
