// Where the stacks of a process's threads end, so that nothing behind them is copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "mixstack/address.h"
#include "mixstack/target.h"

namespace mixstack::profile {

/// From an address to the end of the stack that it is in, by the text of /proc/PID/maps: the mapping around it and
/// those that follow without a gap, as long as they may be written and are of no file. Empty: it is in none.
[[nodiscard]] AddressRange stack_around(std::string_view maps, Address address);

/// The kernel copies as many bytes as it was asked for, whatever lies behind a stack. A thread's stack stays where it
/// is while the thread lives; what is seen outside of it (a handler's own stack, a fiber) is looked up again, a few
/// times. One thread at a time.
class StackEnds {
 public:
  explicit StackEnds(std::uint32_t pid) : pid_(pid) {}

  /// How many of `size` bytes that begin at a thread's sp are of its stack; all of them as long as that is not known.
  [[nodiscard]] std::size_t fit(ThreadId tid, Address sp, std::size_t size);
  /// Looks where the stacks are that `fit` did not know. To be called every now and then: reads the mappings five times
  /// a second at most.
  void look(std::uint64_t now_ns);
  void forget(ThreadId tid) { threads_.erase(tid); }

 private:
  struct Thread {
    AddressRange stack;  ///< empty: not known
    Address sp = 0;      ///< where it is to be looked for
    std::uint32_t looks = 0;
  };
  static constexpr std::uint64_t kInterval = 200'000'000;  ///< ns
  static constexpr std::uint32_t kMostLooks = 16;          ///< for a thread

  std::uint32_t pid_;
  std::unordered_map<ThreadId, Thread> threads_;
  bool is_any_unknown_ = false;
  std::uint64_t looked_ns_ = 0;
};

}  // namespace mixstack::profile
