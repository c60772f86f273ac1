// Which of many disjoint address ranges holds an address.
#pragma once

#include <cstdint>
#include <vector>

#include "mixstack/address.h"

namespace mixstack::images {

/// A sorted list of disjoint ranges, each with a number. Look-ups are a binary search without unpredictable branches.
class RangeIndex {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffu;

  /// Ranges must be added in ascending order; one that touches its predecessor and has its number extends it.
  void append(AddressRange range, std::uint32_t number) {
    if (range.empty() || (!begins_.empty() && range.begin < entries_.back().end)) return;
    if (!begins_.empty() && entries_.back().end == range.begin && entries_.back().number == number) {
      entries_.back().end = range.end;
      return;
    }
    begins_.push_back(range.begin);
    entries_.push_back({range.end, number});
  }

  /// The number of the range that holds `address`, or kNone.
  [[nodiscard]] std::uint32_t find(Address address) const {
    std::size_t n = begins_.size();
    if (n == 0) return kNone;
    const Address* base = begins_.data();
    while (n > 1) {
      const std::size_t half = n / 2;
      base += base[half] <= address ? half : 0;
      n -= half;
    }
    const auto& e = entries_[static_cast<std::size_t>(base - begins_.data())];
    // kNone is all ones: no branch that random addresses would mispredict.
    return e.number | (static_cast<std::uint32_t>(address - *base < e.end - *base) - 1u);
  }

  [[nodiscard]] std::size_t size() const { return begins_.size(); }

 private:
  struct Entry {
    Address end;
    std::uint32_t number;
  };
  std::vector<Address> begins_;
  std::vector<Entry> entries_;
};

}  // namespace mixstack::images
