// Which addresses somebody has spoken for already, newest word first.
#pragma once

#include <algorithm>
#include <iterator>
#include <map>

#include "mixstack/address.h"

namespace mixstack::object {

/// Of lists in which later entries replace earlier ones: they are read from the last to the first. Ranges that overlap
/// or touch are kept as one, so that the cost of a list is that of sorting it.
class ClaimedRanges {
 public:
  /// Whether nobody has spoken for any byte of it. From now on it is spoken for, in either case: what a later entry has
  /// replaced is gone as a whole, and what it had replaced itself does not come back.
  bool claim(const AddressRange& range) {
    auto at = claimed_.upper_bound(range.begin);
    if (at != claimed_.begin() && std::prev(at)->second >= range.begin) --at;
    bool is_free = true;
    AddressRange all = range;
    while (at != claimed_.end() && at->first <= range.end) {
      is_free = is_free && (at->second <= range.begin || at->first >= range.end);
      all = {std::min(all.begin, at->first), std::max(all.end, at->second)};
      at = claimed_.erase(at);
    }
    claimed_.emplace_hint(at, all.begin, all.end);
    return is_free;
  }

 private:
  std::map<Address, Address> claimed_;  ///< begin, end
};

}  // namespace mixstack::object
