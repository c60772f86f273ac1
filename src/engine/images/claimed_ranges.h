// Addresses that newer entries have claimed already.
#pragma once

#include <algorithm>
#include <iterator>
#include <map>

#include "mixstack/address.h"

namespace mixstack::images {

/// For lists in which later entries replace earlier ones: read the last entry first. Ranges that overlap or touch are
/// kept as one, so that a list costs no more than sorting it.
class ClaimedRanges {
 public:
  /// Whether no byte of the range was claimed before. Claims it in either case: an entry that a later one has replaced
  /// is gone as a whole, and the entries it had replaced do not come back.
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

}  // namespace mixstack::images
