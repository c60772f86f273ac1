// Evidence of a trace (the ways tried to find each frame's caller), looked up by frame.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "mixstack/frame.h"

namespace mixstack::report {

/// The evidence of one trace by frame. Copies it: traces may hold it in any order.
class EvidenceIndex {
 public:
  explicit EvidenceIndex(const Trace& trace) : sorted_(trace.evidence) {
    std::stable_sort(sorted_.begin(), sorted_.end(), by_frame);
  }
  /// The ways tried to find the caller of frame number `frame`, in the order they were tried.
  [[nodiscard]] std::span<const Evidence> of(std::size_t frame) const {
    if (frame > UINT32_MAX) return {};
    Evidence wanted;
    wanted.frame = static_cast<std::uint32_t>(frame);
    const auto range = std::equal_range(sorted_.begin(), sorted_.end(), wanted, by_frame);
    return {range.first, range.second};
  }

 private:
  static bool by_frame(const Evidence& a, const Evidence& b) { return a.frame < b.frame; }
  std::vector<Evidence> sorted_;
};

}  // namespace mixstack::report
