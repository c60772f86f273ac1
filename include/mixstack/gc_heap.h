// What the garbage collector tells of its heap, and what a scan of that heap was, as plain data.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace mixstack {

/// The collector's own numbers.
struct GcState {
  bool is_server = false;
  std::uint32_t heaps = 1;
  std::uint64_t bytes = 0;  ///< in use by small objects, generations 0 to 2: what a scan reads
  /// Of large and of pinned objects, with gaps between them; none: it cannot be told.
  std::optional<std::uint64_t> large_bytes{};
  bool is_walkable = true;                   ///< false: a collection moves objects, or has been cut off while it did
  bool in_background = false;                ///< a background collection runs
  std::optional<std::uint64_t> collections;  ///< since the process began; none: it is not told (.NET 10's server)
  std::uint64_t finalizable = 0;             ///< objects that wait for their finalizers
  friend bool operator==(const GcState&, const GcState&) = default;
};

/// A search of the whole heap for async methods that have begun and not ended.
struct HeapScan {
  std::uint64_t bytes = 0;            ///< that were read
  std::uint64_t missing = 0;          ///< that were not there: of a core or a pack
  std::uint64_t suspended = 0;        ///< async methods found that wait at an await
  std::uint64_t running = 0;          ///< those that run, or are about to
  bool has_more = false;              ///< there are more than are kept
  std::chrono::nanoseconds pause{0};  ///< how long the process stood still for it; 0: a core
  std::uint32_t stops = 0;            ///< how often: a collection was under way at all but the last
  friend bool operator==(const HeapScan&, const HeapScan&) = default;
};

}  // namespace mixstack
