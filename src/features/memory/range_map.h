// Which label has each byte of an address space.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mixstack/address.h"

namespace mixstack::memory_use {

/// Claims are made, the surest first: each byte has the label of the first claim on it. Then they are settled once, and
/// ranges are split by them; the pieces of a range always add up to it. A value.
class RangeMap {
 public:
  using Label = std::uint32_t;
  static constexpr Label kNone = ~Label{0};

  /// Empty ranges claim nothing.
  void claim(AddressRange range, Label label);
  /// To be called after the last claim. n log n.
  void settle();
  /// Calls `use(piece, label)` for each piece of a range in order; label kNone: nobody claims it.
  template <class Use>
  void split(AddressRange range, Use&& use) const {
    auto piece = std::partition_point(pieces_.begin(), pieces_.end(),
                                      [&](const Piece& p) { return p.range.end <= range.begin; });
    while (!range.empty()) {
      const bool is_gap = piece == pieces_.end() || range.begin < piece->range.begin;
      const Address until = piece == pieces_.end() ? range.end : is_gap ? piece->range.begin : piece->range.end;
      const Address end = std::min(until, range.end);
      use(AddressRange{range.begin, end}, is_gap ? kNone : piece->label);
      if (!is_gap && end == piece->range.end) ++piece;
      range.begin = end;
    }
  }

 private:
  struct Piece {
    AddressRange range;
    Label label = kNone;
  };
  std::vector<Piece> claims_;  ///< in their order
  std::vector<Piece> pieces_;  ///< by address, none overlaps another
};

}  // namespace mixstack::memory_use
