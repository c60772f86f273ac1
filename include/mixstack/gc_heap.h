// The state of a garbage-collected heap, and of a scan of it, as plain data.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace mixstack {

/// Numbers kept by the collector itself.
struct GcState {
  bool is_server = false;
  std::uint32_t heaps = 1;
  std::uint64_t bytes = 0;  ///< in use by small objects, generations 0 to 2: a scan reads these
  /// In use by large and pinned objects, with gaps between them; none: not readable.
  std::optional<std::uint64_t> large_bytes{};
  bool is_walkable = true;                   ///< false: a collection is moving objects, or was interrupted while it did
  bool in_background = false;                ///< a background collection runs
  std::optional<std::uint64_t> collections;  ///< since the process began; none: not readable (.NET 10's server GC)
  std::uint64_t finalizable = 0;             ///< objects waiting for their finalizers
  friend bool operator==(const GcState&, const GcState&) = default;
};

/// A search of the whole heap for async methods that have begun and not ended.
struct HeapScan {
  std::uint64_t bytes = 0;            ///< read
  std::uint64_t missing = 0;          ///< not available in a core or a pack
  std::uint64_t suspended = 0;        ///< async methods that wait at an await
  std::uint64_t running = 0;          ///< those that run, or are about to
  bool has_more = false;              ///< there are more than are kept
  bool has_fsharp_async = false;      ///< F#'s `async { }` has been used: its computations are none of those methods
  std::uint64_t fsharp_results = 0;   ///< awaited results of F# computations that are not there yet
  std::chrono::nanoseconds pause{0};  ///< how long the process was stopped for it; 0: a core
  std::uint32_t stops = 0;            ///< number of stops: at all but the last a collection was under way
  friend bool operator==(const HeapScan&, const HeapScan&) = default;
};

}  // namespace mixstack
