// Locks over several looks: how many threads wait for each, at how many of the looks, and what its owners do meanwhile.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "mixstack/counters.h"
#include "mixstack/dump.h"
#include "mixstack/slowness.h"

namespace mixstack::why {

/// Objects move: a lock of one look is that of another where the address is the same, or where the type is and some
/// thread wanted or had both.
class LockTally {
 public:
  /// Fewer looks say nothing of how long threads wait.
  static constexpr std::uint32_t kLeastLooks = 4;

  void add(const ProcessDump& dump, std::chrono::steady_clock::time_point at);
  [[nodiscard]] std::uint32_t looks() const { return looks_; }
  /// Whether a thread waited for a lock at one of the looks.
  [[nodiscard]] bool any() const { return !locks_.empty(); }
  /// For how long a thread has waited for a lock, at least, and has not run: from the first look that found it there to
  /// the last one.
  [[nodiscard]] std::chrono::milliseconds longest() const { return longest_; }
  /// Contended locks. `dump` is of the last look, for names of threads.
  [[nodiscard]] std::vector<SlowCause> causes(const Counters& before, const Counters& after,
                                              const ProcessDump& dump) const;

 private:
  /// Belongs to a waiting thread.
  struct Clock {
    std::chrono::nanoseconds cpu{0};
    std::chrono::steady_clock::time_point since{};
  };
  struct Lock {
    WaitKind kind = WaitKind::none;
    WaitedObject object;                 ///< as seen last
    std::set<ThreadId> waiters, owners;  ///< at any look
    std::set<ThreadId> last_waiters;     ///< at its last look
    std::uint32_t seen = 0;              ///< looks at which a thread waited
    std::uint64_t waits = 0;             ///< threads that waited, all looks together
    std::uint32_t most = 0;              ///< at one look
    std::uint32_t likely = 0;            ///< of `waits`, those that are likely only
    std::uint32_t writers = 0;           ///< of `waits`, those of a reader-writer lock that want to write
    bool turns = false;                  ///< its waiters or owners changed, or one of them ran
    std::map<ThreadId, Clock> clocks;
    std::map<std::string, std::uint32_t> places, owner_places;
  };
  struct Seen;
  [[nodiscard]] Lock& lock_of(const Seen& seen);
  void note(Lock& lock, const Seen& seen, const ProcessDump& dump, std::chrono::steady_clock::time_point at);
  void note_clock(Lock& lock, const ThreadDump& thread, std::chrono::steady_clock::time_point at);
  [[nodiscard]] bool is_contended(const Lock& lock) const;
  [[nodiscard]] SlowCause cause_of(const Lock& lock, const Counters& before, const Counters& after,
                                   const ProcessDump& dump) const;

  std::vector<Lock> locks_;
  std::uint32_t looks_ = 0;
  std::chrono::milliseconds longest_{0};  ///< at the last look
};

}  // namespace mixstack::why
