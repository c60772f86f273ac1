// Where code was mapped while a process is recorded, and when: an address may be of another library by then.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "mixstack/address.h"

namespace mixstack::profile {

/// Code that was mapped at a moment (CLOCK_MONOTONIC, ns), and of which file: of none, 0.
struct MappedCode {
  std::uint64_t time_ns = 0;
  AddressRange range;
  std::uint64_t inode = 0, file_offset = 0;
};

/// What was mapped in the last second. Bounded: of what did not fit, all memory counts as mapped anew then.
class CodeChanges {
 public:
  static constexpr std::uint64_t kKept = 1'000'000'000;  ///< ns; samples are walked long before that

  void add(const MappedCode& change) {
    forget(change.time_ns);
    const Address first = change.range.begin >> kShift, last = (change.range.end - 1) >> kShift;
    if (change.range.end <= change.range.begin) return;
    if (last - first >= kMostOfOne || entries_ + (last - first) >= kMostEntries) {
      anywhere_ns_ = change.time_ns;
      return;
    }
    for (Address part = first; part <= last; part++) parts_[part].push_back(change);
    entries_ += last - first + 1;
    latest_ns_ = change.time_ns;
  }
  /// Whether code was mapped at the place after one moment and until another one.
  [[nodiscard]] bool touch(Address place, std::uint64_t after_ns, std::uint64_t until_ns) const {
    if (anywhere_ns_ > after_ns && anywhere_ns_ <= until_ns) return true;
    if (latest_ns_ <= after_ns) return false;
    const auto part = parts_.find(place >> kShift);
    if (part == parts_.end()) return false;
    for (const MappedCode& change : part->second)
      if (change.time_ns > after_ns && change.time_ns <= until_ns && change.range.contains(place)) return true;
    return false;
  }
  [[nodiscard]] bool empty() const { return latest_ns_ == 0 && anywhere_ns_ == 0; }

 private:
  static constexpr unsigned kShift = 21;  // parts of 2 MiB
  static constexpr std::size_t kMostOfOne = 1024, kMostEntries = 1u << 16;

  /// All at once, and seldom.
  void forget(std::uint64_t now_ns) {
    if (latest_ns_ == 0 || now_ns < latest_ns_ + kKept) return;
    parts_.clear();
    entries_ = 0;
  }

  std::unordered_map<Address, std::vector<MappedCode>> parts_;
  std::size_t entries_ = 0;
  std::uint64_t latest_ns_ = 0;    ///< change
  std::uint64_t anywhere_ns_ = 0;  ///< of the last one that had no room
};

}  // namespace mixstack::profile
