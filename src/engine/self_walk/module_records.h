// The images whose rules are cached, and how to tell them from images loaded later at the same addresses.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/self_walk/object_finder.h"
#include "engine/self_walk/probed_memory.h"
#include "engine/self_walk/zeroed_pages.h"

namespace mixstack::self_walk {

/// The parts of an image that look-ups need, and its identity. Addresses are those in memory.
struct ModuleRecord {
  AddressRange range;
  Address eh_frame_hdr = 0;
  Address eh_frame = 0;
  Address table = 0;        ///< of pairs of 32-bit offsets from `eh_frame_hdr`, sorted
  std::uint64_t count = 0;  ///< of pairs
  Address build_id = 0;     ///< address of its bytes; 0: none
  std::uint32_t build_id_size = 0;
  std::array<std::byte, 32> build_id_bytes{};
  bool is_initial = false;  ///< stays loaded as long as the process runs

  /// Reads the image's headers. `count` is 0 if it has no unwind information.
  [[nodiscard]] static ModuleRecord read(const LoadedObject& object, bool is_initial, ProbedMemory& memory);
  /// Whether it can be told from a successor at the same addresses: only then its rules may be cached.
  [[nodiscard]] bool has_identity() const { return is_initial || build_id != 0; }
  /// Whether it is the image that `object` is now.
  [[nodiscard]] bool is(const LoadedObject& object, ProbedMemory& memory) const;
};

/// Append-only, without locks. Signal-safe except for construction.
class ModuleRecords {
 public:
  static constexpr std::uint16_t kMost = 512, kNone = 0xffff;

  ModuleRecords();
  [[nodiscard]] bool is_usable() const { return records_ != nullptr; }

  [[nodiscard]] std::uint16_t size() const {
    return static_cast<std::uint16_t>(std::min<std::uint32_t>(reserved_.load(std::memory_order_acquire), kMost));
  }
  /// Those among the first 64 that are never unloaded, one bit each.
  [[nodiscard]] std::uint64_t initial() const { return initial_.load(std::memory_order_acquire); }
  [[nodiscard]] const ModuleRecord& operator[](std::uint16_t index) const { return records_[index].record; }
  [[nodiscard]] std::uint16_t find(const LoadedObject& object, ProbedMemory& memory) const;
  /// kNone: full. Two threads may add the same image: two records, both right.
  [[nodiscard]] std::uint16_t add(const ModuleRecord& record);
  [[nodiscard]] bool is_full() const { return reserved_.load(std::memory_order_relaxed) >= kMost; }
  /// How many are of images that are no longer where they were. Not signal-safe.
  [[nodiscard]] std::size_t gone(const ObjectFinder& finder) const;

 private:
  struct Entry {
    ModuleRecord record;
    std::atomic<bool> is_ready;
  };
  ZeroedPages pages_;
  Entry* records_;  ///< in `pages_`
  std::atomic<std::uint32_t> reserved_{0};
  std::atomic<std::uint64_t> initial_{0};
};

/// The program and the libraries that it is linked against, directly or not: the dynamic linker never unloads these.
/// Not signal-safe.
[[nodiscard]] std::vector<LoadedObject> initial_objects();

}  // namespace mixstack::self_walk
