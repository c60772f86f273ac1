#include "agent/in_process/repeated_calls.h"

#include <sys/syscall.h>

#include <cerrno>
#include <ctime>

#include "engine/self_walk/host.h"

namespace mixstack::agent {
namespace {

/// Calls that may return EINTR after a handler, and may be repeated because an interrupted one had no effect. Not
/// connect (it continues in the background, and a second one fails), nor close.
[[nodiscard]] bool may_repeat(std::int64_t number) noexcept {
  switch (number) {
#ifdef SYS_poll
    case SYS_poll:
    case SYS_select:
    case SYS_epoll_wait:
    case SYS_pause:
#endif
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait:
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2:
#endif
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_futex:
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_write:
    case SYS_writev:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_msgrcv:
    case SYS_msgsnd:
    case SYS_io_getevents:
    case SYS_rt_sigtimedwait:
    case SYS_mq_timedreceive:
    case SYS_mq_timedsend:
      return true;
    default:
      return false;
  }
}

/// Indexes of the arguments of a sleep: the time, and the buffer for the remaining time. Both 0: not a sleep.
struct Rest {
  unsigned time = 0, left = 0;
};
[[nodiscard]] Rest rest_of(std::int64_t number, std::uint64_t flags) noexcept {
  if (number == SYS_nanosleep) return {0, 1};
  if (number == SYS_clock_nanosleep && (flags & TIMER_ABSTIME) == 0) return {2, 3};
  return {};
}

}  // namespace

int RepeatedCalls::plan(const WaitPlace& place) noexcept {
  if (!self_walk::host::keeps_arguments() || !may_repeat(place.number)) return 0;
  const std::size_t at = next_++ % kSlots;
  slots_[at].pc.store(place.pc, std::memory_order_relaxed);
  slots_[at].sp.store(place.sp, std::memory_order_relaxed);
  slots_[at].number.store(place.number, std::memory_order_release);
  return static_cast<int>(at + 1);
}

bool RepeatedCalls::repeat(void* context, int planned) const noexcept {
  namespace host = self_walk::host;
  if (planned <= 0 || planned > static_cast<int>(kSlots) || host::call_result(context) != -EINTR) return false;
  const Slot& slot = slots_[static_cast<std::size_t>(planned) - 1];
  const std::int64_t number = slot.number.load(std::memory_order_acquire);
  const unwind::LightFrame here = host::light_frame(context);
  if (here.pc.raw() != slot.pc.load(std::memory_order_relaxed) || here.sp != slot.sp.load(std::memory_order_relaxed))
    return false;
  const Rest rest = rest_of(number, host::call_argument(context, 1));
  if (rest.left != 0)
    if (const std::uint64_t left = host::call_argument(context, rest.left); left != 0)
      host::set_call_argument(context, rest.time, left);
  host::repeat_call(context, number);
  return true;
}

}  // namespace mixstack::agent
