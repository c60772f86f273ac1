// Finds the FDE of an address: by the sorted table of .eh_frame_hdr in place, or by a table made from the section.
// Immutable.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <span>
#include <vector>

#include "engine/unwind/cfi_section.h"

namespace mixstack::unwind {

/// Sorted by start of code. Borrows the bytes of .eh_frame_hdr; safe to share between threads.
class FdeIndex {
 public:
  /// The layout of .eh_frame_hdr's table in the only encoding linkers write (datarel | sdata4).
  struct Entry {
    std::int32_t code = 0;  ///< start of the function, relative to the base
    std::int32_t fde = 0;   ///< its FDE, relative to the base of FDEs
  };

  /// From the header's table if it is usable (version, encodings, size, contents within the section), otherwise from
  /// the section itself. `header` may be empty.
  FdeIndex(const CfiSection& section, std::span<const std::byte> header, std::uint64_t header_address);
  FdeIndex(const FdeIndex&) = delete;
  FdeIndex& operator=(const FdeIndex&) = delete;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool is_borrowed() const { return owned_.empty() && size_ != 0; }
  /// Link-time address of the code of entry `i`, and the position of its FDE in the section (unchecked).
  [[nodiscard]] std::uint64_t code(std::size_t i) const { return base_ + extend(entry(i).code); }
  [[nodiscard]] std::uint64_t fde_offset(std::size_t i) const { return fde_base_ + extend(entry(i).fde); }

  /// The last entry that starts at or below `pc`; size(): none within 4 GiB.
  [[nodiscard]] std::size_t find(std::uint64_t pc) const {
    const std::uint64_t distance = pc - first_;
    if (distance > reach_ || size_ == 0) return size_;
    const std::uint32_t* buckets = buckets_.load(std::memory_order_acquire);
    if (buckets == nullptr) [[unlikely]]
      return find_without_buckets(pc);
    const auto bucket = static_cast<std::size_t>(std::min<std::uint64_t>(distance >> shift_, last_bucket_));
    return find_between(pc, buckets[bucket], buckets[bucket + 1]);
  }

  /// Bytes this index holds itself (not those it borrows).
  [[nodiscard]] std::size_t memory_size() const;

 private:
  static std::uint64_t extend(std::int32_t v) { return static_cast<std::uint64_t>(std::int64_t{v}); }
  [[nodiscard]] Entry entry(std::size_t i) const {
    Entry e;
    std::memcpy(&e, table_ + i * sizeof(Entry), sizeof(Entry));
    return e;
  }
  /// The last entry at or below `pc`, of which there are at least `low` and at most `high`.
  [[nodiscard]] std::size_t find_between(std::uint64_t pc, std::size_t low, std::size_t high) const {
    const auto key = static_cast<std::int64_t>(pc - base_);
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (entry(middle).code <= key) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low - 1;
  }
  [[nodiscard]] std::size_t find_without_buckets(std::uint64_t pc) const;
  [[nodiscard]] bool use_header(const CfiSection& section, std::span<const std::byte> header, std::uint64_t address);
  void scan(const CfiSection& section);
  void own(std::vector<std::pair<std::uint64_t, std::uint64_t>> functions);
  [[nodiscard]] bool is_sorted() const;
  void set_limits();
  void make_buckets() const;

  /// Reading the whole index to speed up look-ups pays from about this many on.
  static constexpr std::uint32_t kLookupsBeforeBuckets = 64;

  std::vector<Entry> owned_;
  const std::byte* table_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t base_ = 0, fde_base_ = 0;
  std::uint64_t first_ = 0;  ///< code of entry 0
  std::uint64_t reach_ = 0;  ///< from first_, of the last entry's longest possible code
  unsigned shift_ = 0;
  std::size_t last_bucket_ = 0;
  mutable std::atomic<const std::uint32_t*> buckets_{nullptr};  ///< [b]: entries before first_ + (b << shift_)
  mutable std::atomic<std::uint32_t> lookups_{0};
  mutable std::mutex mutex_;
  mutable std::vector<std::uint32_t> bucket_storage_;
};

}  // namespace mixstack::unwind
