// The thread pool over several looks: whether its queue grows while all of its workers wait.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mixstack/dump.h"
#include "mixstack/slowness.h"

namespace mixstack::why {

/// A pool is not starved where its workers come back from their waits and take the next item, and yet too slow for what
/// is queued. One look cannot tell that from a burst.
class PoolTally {
 public:
  void add(const ProcessDump& dump, std::chrono::steady_clock::time_point at);
  /// Whether more looks may show a queue that grows.
  [[nodiscard]] bool any() const;
  [[nodiscard]] std::optional<SlowCause> cause() const;

 private:
  [[nodiscard]] double blocked_share() const;

  struct Look {
    std::chrono::steady_clock::time_point at{};
    std::uint64_t queued = 0;
    bool has_more = false;  ///< than `queued`
    std::size_t workers = 0, blocked = 0;
  };
  std::vector<Look> looks_;
  std::set<ThreadId> computing_;                         ///< workers that were at work or idle at all looks
  std::map<std::string, std::uint32_t> places_, waits_;  ///< of blocked workers, all looks together
};

}  // namespace mixstack::why
