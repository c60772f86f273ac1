#include "dotnet/holders/object_numbers.h"

#include <algorithm>
#include <bit>

namespace mixstack::dotnet::holders {
namespace {

constexpr std::uint64_t kBlockWords = RegionObjects::kBlock / 64;

std::uint32_t ones(std::uint64_t bits) { return static_cast<std::uint32_t>(std::popcount(bits)); }

}  // namespace

ObjectNumbers::ObjectNumbers(std::vector<RegionObjects>&& regions) {
  std::size_t words = 0, objects = 0;
  for (const RegionObjects& r : regions) {
    words += r.bits.size();
    objects += r.shapes.size();
  }
  bits_.reserve(words);
  shapes_.reserve(objects);
  for (RegionObjects& r : regions) {
    regions_.push_back({r.range, bits_.size(), r.bits.size()});
    bits_.insert(bits_.end(), r.bits.begin(), r.bits.end());
    shapes_.insert(shapes_.end(), r.shapes.begin(), r.shapes.end());
    r = {};
  }
  counts_.reserve(words / kBlockWords + 1);
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < bits_.size(); i++) {
    if (i % kBlockWords == 0) counts_.push_back(count);
    count += ones(bits_[i]);
  }
  counts_.push_back(count);
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
  const std::uint64_t bit = r->first * 64 + (address - r->range.begin) / 8;
  return (bits_[bit / 64] >> bit % 64 & 1) != 0 ? rank(bit) : kNoNode;
}

Node ObjectNumbers::find_before(Address address) const {
  const Region* r = region_of(address);
  if (r == nullptr) return kNoNode;
  const std::uint64_t bit = r->first * 64 + (address - r->range.begin) / 8;
  const Node before_region = rank(r->first * 64), with = rank(bit) + static_cast<Node>(bits_[bit / 64] >> bit % 64 & 1);
  return with == before_region ? kNoNode : with - 1;
}

Address ObjectNumbers::address(Node object) const {
  const auto block = std::upper_bound(counts_.begin(), counts_.end(), object) - counts_.begin() - 1;
  std::uint32_t count = counts_[static_cast<std::size_t>(block)];
  std::uint64_t word = static_cast<std::uint64_t>(block) * kBlockWords;
  while (count + ones(bits_[word]) <= object) count += ones(bits_[word++]);
  std::uint64_t bits = bits_[word];
  for (; count < object; count++) bits &= bits - 1;
  const std::uint64_t bit = word * 64 + static_cast<unsigned>(std::countr_zero(bits));
  const auto region = std::upper_bound(regions_.begin(), regions_.end(), word,
                                       [](std::uint64_t w, const Region& r) { return w < r.first; }) -
                      1;
  return region->range.begin + (bit - region->first * 64) * 8;
}

}  // namespace mixstack::dotnet::holders
