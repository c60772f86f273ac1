// Waits that a signal of ours cut short, made again before the thread sees that.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/standing_threads.h"

namespace mixstack::agent {

/// Linux restarts many calls after a handler (SA_RESTART), but poll, epoll_wait, select, sleeps and sockets with a
/// time-out return EINTR (signal(7)), and code that was never interrupted before may take that for an error. Where a
/// handler of ours finds such a call, it is made again with the registers that it had. What is left of the time is kept
/// where the kernel says it (select, ppoll, sleeps with a place for the rest); else the call waits its whole time once
/// more, so a wait is longer by what it had waited before our signal.
///
/// Nothing is repeated where the call is not known, where the thread is not exactly where the kernel showed it, and on
/// ARM64: there the first argument is lost once a call returned.
/// `plan` is for one thread, `repeat` for signal handlers of all.
class RepeatedCalls {
 public:
  /// A signal goes to a thread that waits there. Answers what the handler must be told, 0: leave the call as it is.
  [[nodiscard]] int plan(const WaitPlace& place) noexcept;
  /// In the handler, with the `ucontext_t` that it got. True: the call is made again when the handler returns.
  bool repeat(void* context, int planned) const noexcept;

 private:
  static constexpr std::size_t kSlots = 1024;  ///< signals under way; one that is older finds another thread's place
  struct Slot {
    std::atomic<Address> pc{0}, sp{0};
    std::atomic<std::int64_t> number{0};
  };
  std::array<Slot, kSlots> slots_;
  std::size_t next_ = 0;
};

}  // namespace mixstack::agent
