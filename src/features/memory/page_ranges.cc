#include "features/memory/page_ranges.h"

namespace mixstack::memory_use {

Ranges without(const Ranges& all, const Ranges& taken) {
  Ranges left;
  auto cut = taken.begin();
  for (AddressRange r : all) {
    while (cut != taken.end() && cut->end <= r.begin) ++cut;
    for (auto c = cut; c != taken.end() && c->begin < r.end; ++c) {
      if (r.begin < c->begin) left.push_back({r.begin, c->begin});
      r.begin = std::max(r.begin, std::min(c->end, r.end));
    }
    if (!r.empty()) left.push_back(r);
  }
  return left;
}

Ranges common(const Ranges& a, const Ranges& b) {
  Ranges both;
  auto x = a.begin();
  auto y = b.begin();
  while (x != a.end() && y != b.end()) {
    const AddressRange r{std::max(x->begin, y->begin), std::min(x->end, y->end)};
    if (r.begin < r.end) both.push_back(r);
    x->end < y->end ? (void)++x : (void)++y;
  }
  return both;
}

Ranges joined(Ranges a, const Ranges& b) {
  a.insert(a.end(), b.begin(), b.end());
  std::sort(a.begin(), a.end(), [](const AddressRange& x, const AddressRange& y) { return x.begin < y.begin; });
  Ranges all;
  for (const AddressRange& r : a) {
    if (!all.empty() && r.begin <= all.back().end)
      all.back().end = std::max(all.back().end, r.end);
    else
      all.push_back(r);
  }
  return all;
}

std::uint64_t bytes_of(const Ranges& ranges) {
  std::uint64_t bytes = 0;
  for (const AddressRange& r : ranges) bytes += r.size();
  return bytes;
}

std::uint64_t bytes_in(const Ranges& ranges, AddressRange part) {
  std::uint64_t bytes = 0;
  auto at = std::lower_bound(ranges.begin(), ranges.end(), part.begin,
                             [](const AddressRange& r, Address a) { return r.end <= a; });
  for (; at != ranges.end() && at->begin < part.end; ++at)
    bytes += std::min(at->end, part.end) - std::max(at->begin, part.begin);
  return bytes;
}

void OwnerMap::disown(AddressRange range) {
  if (range.empty()) return;
  auto at = pieces_.upper_bound(range.begin);
  if (at != pieces_.begin()) --at;
  while (at != pieces_.end() && at->first < range.end) {
    const Address begin = at->first;
    const Piece piece = at->second;
    if (piece.end <= range.begin) {
      ++at;
      continue;
    }
    at = pieces_.erase(at);
    if (begin < range.begin) pieces_[begin] = {range.begin, piece.owner};
    if (piece.end > range.end) at = pieces_.emplace(range.end, Piece{piece.end, piece.owner}).first;
  }
}

void OwnerMap::own(AddressRange range, std::size_t owner) {
  if (range.empty()) return;
  disown(range);
  pieces_[range.begin] = {range.end, owner};
}

}  // namespace mixstack::memory_use
