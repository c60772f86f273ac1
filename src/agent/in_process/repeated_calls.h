// Repeats system calls that our signal interrupted, before the thread sees EINTR.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/in_process/standing_threads.h"

namespace mixstack::agent {

/// Linux restarts many calls after a handler (SA_RESTART), but poll, epoll_wait, select, sleeps and sockets with a
/// time-out return EINTR (signal(7)), and code that was never interrupted before may take that for an error. When our
/// handler finds such a call, it repeats it with the same registers. The remaining time is used if the kernel reports
/// it (select, ppoll, sleeps with a buffer for the rest). Otherwise the call waits its whole time again, so a wait gets
/// longer by the time it had waited before our signal.
///
/// Nothing is repeated if the call is not in the list, if the thread is not exactly where the kernel showed it, or on
/// ARM64, where the result overwrites the first argument.
/// `plan` is for one thread, `repeat` for signal handlers of all threads.
class RepeatedCalls {
 public:
  /// Before a signal to a thread that waits there. Returns the number to pass to the handler; 0: do not repeat.
  [[nodiscard]] int plan(const WaitPlace& place) noexcept;
  /// In the handler, with its `ucontext_t`. True: the call is repeated when the handler returns.
  bool repeat(void* context, int planned) const noexcept;

 private:
  static constexpr std::size_t kSlots = 1024;  ///< pending signals; an older one finds another place in its slot
  struct Slot {
    std::atomic<Address> pc{0}, sp{0};
    std::atomic<std::int64_t> number{0};
  };
  std::array<Slot, kSlots> slots_;
  std::size_t next_ = 0;
};

}  // namespace mixstack::agent
