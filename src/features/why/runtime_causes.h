// Causes of slowness that the runtime's own counters tell: collections, memory that grows, exceptions, compiling.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mixstack/busy.h"
#include "mixstack/counters.h"
#include "mixstack/dump.h"
#include "mixstack/slowness.h"

namespace mixstack::why {

inline constexpr std::size_t kGcReasons = 6;

/// Facts that the runtime shows for a moment only. It keeps the reason of the last collection alone, so that is read
/// again and again, and collections that came in between count like the one that was seen. The type of an exception is
/// there while a thread handles it.
class RuntimeTally {
 public:
  void note(const std::vector<RuntimeCounters>& runtimes);
  [[nodiscard]] std::uint64_t of(GcReason reason) const { return counts_[static_cast<std::size_t>(reason)]; }
  [[nodiscard]] std::uint64_t all() const;
  /// The reason of most of them; nothing: none was seen.
  [[nodiscard]] std::optional<GcReason> most() const;
  /// Types of exceptions, those seen most often first.
  [[nodiscard]] std::vector<std::string> thrown() const;

 private:
  std::array<std::uint64_t, kGcReasons> counts_{};
  std::vector<std::uint64_t> numbers_;  ///< by runtime: the last collection seen
  static constexpr std::size_t kMostTypes = 256;
  std::map<std::string, std::uint64_t> thrown_;
};

/// Events between the first look and the last.
struct RuntimeEvidence {
  const Counters& before;
  const Counters& after;
  const RuntimeTally& tally;
  const ProcessDump& dump;                           ///< of the last look
  const Busyness* busy = nullptr;                    ///< samples of about that time; null: none
  std::optional<std::chrono::nanoseconds> uptime{};  ///< of the process
  std::set<std::uint32_t> throwing{};                ///< threads that samples show where they throw; empty: none
};

/// In no order. Places are not known yet: `add_runtime_places` adds them from samples.
[[nodiscard]] std::vector<SlowCause> runtime_causes(const RuntimeEvidence& evidence);

[[nodiscard]] std::optional<SlowCause> collections_cause(const RuntimeEvidence& evidence);
[[nodiscard]] std::optional<SlowCause> managed_growth(const RuntimeEvidence& evidence);
[[nodiscard]] std::optional<SlowCause> exceptions_cause(const RuntimeEvidence& evidence);
[[nodiscard]] std::optional<SlowCause> compiling_cause(const RuntimeEvidence& evidence);

/// Page faults of memory that large objects get, and give back when they are collected, are a part of that cause.
void fold_page_faults(std::vector<SlowCause>& causes);

/// The thread that allocated most between two looks.
struct Allocator {
  ThreadId tid = 0;  ///< of the dump; 0: it is not there
  double share = 0;  ///< of all bytes
  double bytes = 0;  ///< of all threads, a second
  double large = 0;  ///< of those, large objects
};
[[nodiscard]] std::optional<Allocator> most_allocating(const Counters& before, const Counters& after,
                                                       const ProcessDump& dump);

}  // namespace mixstack::why
