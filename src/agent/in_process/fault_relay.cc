#include "agent/in_process/fault_relay.h"

#include <sys/syscall.h>
#include <ucontext.h>

#include <atomic>
#include <cstring>

#include "agent/in_process/alternate_stack.h"
#include "base/memory/system_call.h"
#include "engine/self_walk/host.h"

namespace mixstack::agent {
namespace {

using Handler = void(int, siginfo_t*, void*);
namespace host = self_walk::host;

constexpr Address kRoom = 12 << 10;  // below the frame, for the runtime's handler until it switches stacks

/// State for handlers, which get no argument of ours.
struct Told {
  std::atomic<Handler*> next{nullptr};
  std::atomic<int> held_up{0};
  std::atomic<bool> adds_to_mask{false};
  std::atomic<bool> is_behind{false};  ///< another handler was installed over ours
};
constinit Told told;

[[nodiscard]] bool is_of(const struct sigaction& action, Handler* handler) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == handler;
}

/// The frame's new place in the lower half of its stack; 0: it is not moved.
[[nodiscard]] Address new_place(const ucontext_t& context, AddressRange frame) noexcept {
  const stack_t& stack = context.uc_stack;
  const Address begin = reinterpret_cast<std::uintptr_t>(stack.ss_sp), middle = begin + stack.ss_size / 2;
  if ((stack.ss_flags & SS_DISABLE) != 0 || stack.ss_size != AlternateStacks::kSize) return 0;
  const bool is_above = frame.begin >= middle && frame.begin < frame.end && frame.end <= begin + stack.ss_size;
  if (!is_above || frame.size() + 2 * kRoom > stack.ss_size / 2) return 0;
  return host::place_below(middle, frame);
}

/// Unblocks the signal, unless the thread had it blocked before the fault.
void let_in(int signal, const ucontext_t& context) noexcept {
  if (signal == 0 || sigismember(&context.uc_sigmask, signal) != 0) return;
  const std::uint64_t set = std::uint64_t{1} << (signal - 1);
  (void)memory::system_call(SYS_rt_sigprocmask, SIG_UNBLOCK, reinterpret_cast<std::uintptr_t>(&set), 0, sizeof(set));
}

}  // namespace

void FaultRelay::on_fault(int signal, siginfo_t* info, void* context) noexcept {
  const auto next = told.next.load();
  const AddressRange frame = host::signal_frame(info, context);
  const Address place = new_place(*static_cast<const ucontext_t*>(context), frame);
  if (place == 0) return next(signal, info, context);
  const auto moved = [&](const void* part) {
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(part) + (place - frame.begin));
  };
  std::memcpy(reinterpret_cast<void*>(place), reinterpret_cast<const void*>(frame.begin), frame.size());
  host::relocate_frame(moved(context), place - frame.begin);
  let_in(told.held_up.load(), *static_cast<const ucontext_t*>(context));
  self_walk::mixstack_begin_handler(signal, static_cast<siginfo_t*>(moved(info)), moved(context), next,
                                    reinterpret_cast<void*>(place),
                                    reinterpret_cast<void*>(place + frame.size() - host::kFrameRecord));
}

void FaultRelay::begin(int held_up) {
  struct sigaction now {};
  if (::sigaction(SIGSEGV, nullptr, &now) != 0) return;
  told.held_up.store(held_up);
  constexpr int kNeeded = SA_SIGINFO | SA_ONSTACK;
  // A handler installed over ours chains to ours: installing ours over it again would make an endless loop.
  if (told.is_behind.load() || is_of(now, on_fault) || (now.sa_flags & kNeeded) != kNeeded) return;
  told.next.store(now.sa_sigaction);
  const bool holds_up = ::sigismember(&now.sa_mask, held_up) != 0;
  told.adds_to_mask.store(!holds_up);
  now.sa_sigaction = on_fault;
  (void)::sigaddset(&now.sa_mask, held_up);
  (void)::sigaction(SIGSEGV, &now, nullptr);
}

void FaultRelay::end() {
  struct sigaction now {};
  if (told.next.load() == nullptr || ::sigaction(SIGSEGV, nullptr, &now) != 0) return;
  if (!is_of(now, on_fault)) return told.is_behind.store(true);
  now.sa_sigaction = told.next.load();
  if (told.adds_to_mask.load()) (void)::sigdelset(&now.sa_mask, told.held_up.load());
  (void)::sigaction(SIGSEGV, &now, nullptr);
}

}  // namespace mixstack::agent
