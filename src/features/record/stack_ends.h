// Where the stacks of a process's threads end, so that nothing beyond them is copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "mixstack/address.h"
#include "mixstack/target.h"

namespace mixstack::record {

/// The range from the start of the mapping around an address to the end of its stack, by the text of /proc/PID/maps:
/// that mapping and those that follow without a gap, as long as they are writable and anonymous. Empty: no such
/// mapping.
[[nodiscard]] AddressRange stack_around(std::string_view maps, Address address);

/// The kernel copies as many bytes as it was asked for, whatever lies beyond a stack. A thread's stack stays in place
/// while the thread lives; an sp outside of it (a signal handler's own stack, a fiber) is looked up again, `kMostLooks`
/// times at most. One thread at a time.
class StackEnds {
 public:
  explicit StackEnds(std::uint32_t pid) : pid_(pid) {}

  /// How many of `size` bytes from a thread's sp belong to its stack; `size` as long as that is not known.
  [[nodiscard]] std::size_t fit(ThreadId tid, Address sp, std::size_t size);
  /// Looks up the stacks that `fit` did not know. Call it regularly: it reads the mappings five times a second at most.
  void look(std::uint64_t now_ns);
  void forget(ThreadId tid) { threads_.erase(tid); }

 private:
  struct Thread {
    AddressRange stack;  ///< empty: not known
    Address sp = 0;      ///< to be looked up
    std::uint32_t looks = 0;
  };
  static constexpr std::uint64_t kInterval = 200'000'000;  ///< ns
  static constexpr std::uint32_t kMostLooks = 16;          ///< for a thread

  std::uint32_t pid_;
  std::unordered_map<ThreadId, Thread> threads_;
  bool is_any_unknown_ = false;
  std::uint64_t looked_ns_ = 0;
};

}  // namespace mixstack::record
