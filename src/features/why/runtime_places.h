// Places in the program that cause work of the runtime, from samples: the innermost method of the program below which
// the runtime's functions of that kind run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "features/why/runtime_causes.h"
#include "mixstack/dump.h"
#include "mixstack/recording.h"
#include "mixstack/slowness.h"

namespace mixstack::why {

/// Threads with samples in which they throw.
[[nodiscard]] std::set<std::uint32_t> throwing_threads(const Recording& recording);

/// Adds places to causes that have none: collections, memory of the managed heap, exceptions, compiling.
void add_runtime_places(const Recording& recording, const std::optional<Allocator>& most,
                        std::vector<SlowCause>& causes);
/// The same from threads of a dump: who called for a collection waits where other threads collect.
void add_runtime_places(const ProcessDump& dump, std::vector<SlowCause>& causes);
/// Whether a cause would have a place if a dump showed the right moment.
[[nodiscard]] bool wants_a_caller(std::span<const SlowCause> causes);

/// Counts places, for one cause.
class PlaceVotes {
 public:
  explicit PlaceVotes(const Recording& recording) : recording_(recording) {}
  void add(std::uint32_t frame, std::uint64_t count);
  [[nodiscard]] std::uint64_t all() const { return all_; }
  /// Sets place, numbers, and lines for other places with a tenth of the samples or more.
  void tell(SlowCause& cause) const;

 private:
  struct Place {
    std::uint64_t count = 0;
    std::map<std::uint32_t, std::uint64_t> frames;
  };
  [[nodiscard]] std::string words(std::uint32_t function, const Place& place) const;

  const Recording& recording_;
  std::map<std::uint32_t, Place> by_function_;
  std::uint64_t all_ = 0;
};

}  // namespace mixstack::why
