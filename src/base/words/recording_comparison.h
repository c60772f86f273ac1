// Compares two recordings: which functions and stacks took more of the time, and which less.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/words/recording_view.h"

namespace mixstack {

/// Counts of samples in the first and in the second recording.
struct BeforeAfter {
  std::uint64_t before = 0, after = 0;
};

struct ComparedEntry {
  std::string name{};
  CodeKind kind = CodeKind::unknown;
  BeforeAfter self{}, total{};
};

/// A tree of the stacks of both recordings, by shown name and kind of their functions. Node 0 is the root.
struct Comparison {
  std::vector<ComparedEntry> entries{};
  std::vector<ViewNode> nodes{};
  std::vector<BeforeAfter> self{};  ///< by node
  BeforeAfter shown{};              ///< all samples: shares are relative to these
};

/// Compares two views with ViewDetail::functions, made with the same options.
[[nodiscard]] Comparison compare(const RecordingView& before, const RecordingView& after);

/// Increase of the share in percentage points; 0 if one of both has no samples.
[[nodiscard]] double points(const BeforeAfter& counts, const BeforeAfter& shown);

}  // namespace mixstack
