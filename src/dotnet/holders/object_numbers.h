// Objects of a heap by numbers, in the order of their addresses.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "dotnet/holders/dominators.h"
#include "dotnet/holders/region_objects.h"

namespace mixstack::dotnet::holders {

/// A bit for each 8 bytes of heap and a count for each 64 bytes of bits: no table of addresses, but of large objects.
/// Immutable once made.
class ObjectNumbers {
 public:
  /// Takes bits and shapes. Regions by address, none overlaps another.
  explicit ObjectNumbers(std::vector<RegionObjects>&& regions);

  [[nodiscard]] Node size() const { return size_; }
  /// The object that begins there; kNoNode: none does.
  [[nodiscard]] Node find(Address address) const;
  /// The last one that begins there or before, in the same region; kNoNode: none.
  [[nodiscard]] Node find_before(Address address) const;
  [[nodiscard]] Address address(Node object) const;
  [[nodiscard]] std::uint32_t shape(Node object) const { return few_.empty() ? many_[object] : few_[object]; }

  /// All objects in order: `f(object, address)`.
  template <class F>
  void each(F f) const {
    Node n = 0;
    for (const Region& r : regions_) {
      for (const Address address : r.begins) f(n++, address);
      for (std::uint64_t i = 0; i < r.words; i++)
        for (std::uint64_t left = bits_[r.first + i]; left != 0; left &= left - 1)
          f(n++, r.range.begin + (i * 64 + static_cast<unsigned>(__builtin_ctzll(left))) * 8);
    }
  }

 private:
  struct Region {
    AddressRange range;
    std::uint64_t first = 0, words = 0;  ///< of its bits, in words of 64; no words: a list
    Node before = 0;                     ///< objects of those before it
    std::vector<Address> begins{};
  };
  [[nodiscard]] const Region* region_of(Address address) const;
  [[nodiscard]] Node rank(std::uint64_t bit) const;

  std::vector<Region> regions_;
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint32_t> counts_;  ///< objects before each block
  Node size_ = 0;
  std::vector<std::uint16_t> few_;   ///< shapes, where all of their numbers are small
  std::vector<std::uint32_t> many_;  ///< else
};

}  // namespace mixstack::dotnet::holders
