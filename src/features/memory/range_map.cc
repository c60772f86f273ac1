#include "features/memory/range_map.h"

#include <set>

namespace mixstack::memory_use {

void RangeMap::claim(AddressRange range, Label label) {
  if (!range.empty()) claims_.push_back({range, label});
}

void RangeMap::settle() {
  struct Event {
    Address at = 0;
    std::size_t claim = 0;
    bool is_begin = false;
  };
  std::vector<Event> events;
  events.reserve(claims_.size() * 2);
  for (std::size_t i = 0; i < claims_.size(); i++) {
    events.push_back({claims_[i].range.begin, i, true});
    events.push_back({claims_[i].range.end, i, false});
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.at < b.at; });
  pieces_.clear();
  std::set<std::size_t> open;  // the first of them has the label
  Address from = 0;
  for (const Event& event : events) {
    if (!open.empty() && from < event.at) {
      const Label label = claims_[*open.begin()].label;
      if (!pieces_.empty() && pieces_.back().label == label && pieces_.back().range.end == from)
        pieces_.back().range.end = event.at;
      else
        pieces_.push_back({{from, event.at}, label});
    }
    from = event.at;
    if (event.is_begin)
      open.insert(event.claim);
    else
      open.erase(event.claim);
  }
}

}  // namespace mixstack::memory_use
