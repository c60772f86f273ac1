// Two recordings beside each other: which functions and stacks took more of the time, and which less.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/recording_view.h"

namespace mixstack {

/// Counts of samples in the first and in the second.
struct BeforeAfter {
  std::uint64_t before = 0, after = 0;
};

struct ComparedEntry {
  std::string name{};
  CodeKind kind = CodeKind::unknown;
  BeforeAfter self{}, total{};
};

/// A tree of the stacks of both, by the shown name and kind of their functions. Node 0 is the root.
struct Comparison {
  std::vector<ComparedEntry> entries{};
  std::vector<ViewNode> nodes{};
  std::vector<BeforeAfter> self{};  ///< by node
  BeforeAfter shown{};              ///< all samples: what counts are shares of
};

/// Of two views with ViewDetail::functions, made with the same options.
[[nodiscard]] Comparison compare(const RecordingView& before, const RecordingView& after);

/// How much more of the whole in percentage points; 0 where one of both has no samples.
[[nodiscard]] double points(const BeforeAfter& counts, const BeforeAfter& shown);

}  // namespace mixstack
