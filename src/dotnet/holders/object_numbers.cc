#include "dotnet/holders/object_numbers.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace mixstack::dotnet::holders {
namespace {

constexpr std::uint64_t kBlockWords = RegionObjects::kBlock / 64;

std::uint32_t ones(std::uint64_t bits) { return static_cast<std::uint32_t>(std::popcount(bits)); }

}  // namespace

ObjectNumbers::ObjectNumbers(std::vector<RegionObjects>&& regions) {
  std::size_t words = 0, objects = 0;
  std::uint32_t most = 0;
  for (const RegionObjects& r : regions) {
    words += r.bits.size();
    objects += r.shapes.size();
    for (const std::uint32_t shape : r.shapes) most = std::max(most, shape);
  }
  bits_.reserve(words);
  const bool are_few = most <= std::numeric_limits<std::uint16_t>::max();
  if (are_few) {
    few_.reserve(objects);
  } else {
    many_.reserve(objects);
  }
  for (RegionObjects& r : regions) {
    regions_.push_back({r.range, bits_.size(), r.bits.size(), size_, std::move(r.begins)});
    size_ += static_cast<Node>(r.shapes.size());
    bits_.insert(bits_.end(), r.bits.begin(), r.bits.end());
    if (are_few) {
      for (const std::uint32_t shape : r.shapes) few_.push_back(static_cast<std::uint16_t>(shape));
    } else {
      many_.insert(many_.end(), r.shapes.begin(), r.shapes.end());
    }
    r = {};
  }
  counts_.reserve(words / kBlockWords);
  for (const Region& r : regions_) {
    std::uint32_t count = r.before;
    for (std::uint64_t i = 0; i < r.words; i++) {
      if (i % kBlockWords == 0) counts_.push_back(count);
      count += ones(bits_[r.first + i]);
    }
  }
}

const ObjectNumbers::Region* ObjectNumbers::region_of(Address address) const {
  auto it = std::upper_bound(regions_.begin(), regions_.end(), address,
                             [](Address a, const Region& r) { return a < r.range.begin; });
  if (it == regions_.begin()) return nullptr;
  --it;
  return address < it->range.end ? &*it : nullptr;
}

/// Objects before a bit.
Node ObjectNumbers::rank(std::uint64_t bit) const {
  const std::uint64_t word = bit / 64;
  std::uint32_t count = counts_[word / kBlockWords];
  for (std::uint64_t i = word / kBlockWords * kBlockWords; i < word; i++) count += ones(bits_[i]);
  return count + ones(bits_[word] & ((std::uint64_t{1} << bit % 64) - 1));
}

Node ObjectNumbers::find(Address address) const {
  const Region* r = address % 8 == 0 ? region_of(address) : nullptr;
  if (r == nullptr) return kNoNode;
  if (r->words == 0) {
    const auto it = std::lower_bound(r->begins.begin(), r->begins.end(), address);
    return it != r->begins.end() && *it == address ? r->before + static_cast<Node>(it - r->begins.begin()) : kNoNode;
  }
  const std::uint64_t bit = r->first * 64 + (address - r->range.begin) / 8;
  return (bits_[bit / 64] >> bit % 64 & 1) != 0 ? rank(bit) : kNoNode;
}

Node ObjectNumbers::find_before(Address address) const {
  const Region* r = region_of(address);
  if (r == nullptr) return kNoNode;
  Node with = r->before;
  if (r->words == 0) {
    with += static_cast<Node>(std::upper_bound(r->begins.begin(), r->begins.end(), address) - r->begins.begin());
  } else {
    const std::uint64_t bit = r->first * 64 + (address - r->range.begin) / 8;
    with = rank(bit) + static_cast<Node>(bits_[bit / 64] >> bit % 64 & 1);
  }
  return with == r->before ? kNoNode : with - 1;
}

Address ObjectNumbers::address(Node object) const {
  const auto region =
      std::upper_bound(regions_.begin(), regions_.end(), object, [](Node n, const Region& r) { return n < r.before; }) -
      1;
  if (region->words == 0) return region->begins[object - region->before];
  const auto first = counts_.begin() + static_cast<std::ptrdiff_t>(region->first / kBlockWords);
  const auto block = std::upper_bound(first, first + static_cast<std::ptrdiff_t>(region->words / kBlockWords), object) -
                     counts_.begin() - 1;
  std::uint32_t count = counts_[static_cast<std::size_t>(block)];
  std::uint64_t word = static_cast<std::uint64_t>(block) * kBlockWords;
  while (count + ones(bits_[word]) <= object) count += ones(bits_[word++]);
  std::uint64_t bits = bits_[word];
  for (; count < object; count++) bits &= bits - 1;
  const std::uint64_t bit = word * 64 + static_cast<unsigned>(std::countr_zero(bits));
  return region->range.begin + (bit - region->first * 64) * 8;
}

}  // namespace mixstack::dotnet::holders
