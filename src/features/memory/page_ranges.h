// Lists of ranges as sets of addresses. All lists are in order, and none of their ranges overlaps another.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "mixstack/address.h"

namespace mixstack::memory_use {

using Ranges = std::vector<AddressRange>;

/// Addresses in `all` and not in `taken`.
[[nodiscard]] Ranges without(const Ranges& all, const Ranges& taken);
/// Addresses in both.
[[nodiscard]] Ranges common(const Ranges& a, const Ranges& b);
/// Addresses in one of them, or in both.
[[nodiscard]] Ranges joined(Ranges a, const Ranges& b);
[[nodiscard]] std::uint64_t bytes_of(const Ranges& ranges);
/// The bytes of `ranges` that lie in `part`. Logarithmic in the number of ranges before it.
[[nodiscard]] std::uint64_t bytes_in(const Ranges& ranges, AddressRange part);

/// The last owner of each address.
class OwnerMap {
 public:
  /// Takes a range away from whoever has it. Empty: nothing.
  void own(AddressRange range, std::size_t owner);
  void disown(AddressRange range);
  /// Calls `use(piece, owner)` for each piece of a range in order; nothing: nobody owns it.
  template <class Use>
  void split(AddressRange range, Use&& use) const {
    auto at = pieces_.upper_bound(range.begin);
    if (at != pieces_.begin() && std::prev(at)->second.end > range.begin) --at;
    while (!range.empty()) {
      const bool is_gap = at == pieces_.end() || range.begin < at->first;
      const Address until = at == pieces_.end() ? range.end : is_gap ? at->first : at->second.end;
      const Address end = std::min(until, range.end);
      use(AddressRange{range.begin, end}, is_gap ? std::nullopt : std::optional(at->second.owner));
      if (!is_gap && end == at->second.end) ++at;
      range.begin = end;
    }
  }
  /// Calls `use(range, owner)` for all.
  template <class Use>
  void each(Use&& use) const {
    for (const auto& [begin, piece] : pieces_) use(AddressRange{begin, piece.end}, piece.owner);
  }

 private:
  struct Piece {
    Address end = 0;
    std::size_t owner = 0;
  };
  std::map<Address, Piece> pieces_;  ///< by begin
};

}  // namespace mixstack::memory_use
