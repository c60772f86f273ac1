#include "process/self/signal_capture.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <new>

#include "base/memory/page_probe.h"
#include "base/memory/system_call.h"
#include "process/live/stack_plan.h"
#include "process/self/context_registers.h"

namespace mixstack::process {
namespace {

using memory::system_call;
using Round = SignalCapture::Round;
constexpr std::chrono::milliseconds kGrace{1000};

// Globals, since a signal handler reaches nothing else: the current round, and how many handlers use it.
std::atomic<Round*> g_round{nullptr};
std::atomic<std::uint32_t> g_inside{0};

/// Copies as many of the bytes as there is room for and can be read.
[[nodiscard]] std::span<std::byte> copy_bytes(Round& round, Address base, std::uint64_t most) {
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(most, round.room_size));
  const std::size_t at = round.room_used.fetch_add(size);
  const std::size_t wanted = std::min(size, at < round.room_size ? round.room_size - at : 0);
  std::byte* const copy = round.room.get() + (wanted == 0 ? 0 : at);
  const std::int64_t n = memory::copy_own_memory(base, {copy, wanted});
  return {copy, n > 0 ? static_cast<std::size_t>(n) : 0};
}

void copy_thread(Round& round, SignalSlot& slot, const void* context) {
  slot.registers = context_registers(context);
  const Address sp = slot.registers.sp();
  const AddressRange extent = stack_extent(*round.regions, sp, own_thread_pointer());
  slot.stack_base = sp - extent.begin > kRedZone ? sp - kRedZone : extent.begin;
  const std::uint64_t whole = extent.empty() ? 0 : extent.end - slot.stack_base;
  const std::span<std::byte> stack = copy_bytes(round, slot.stack_base, std::min<std::uint64_t>(whole, round.initial));
  slot.copy = stack.data();
  slot.stack_size = stack.size();
  slot.truncated = slot.stack_size < whole || extent.empty();
  // A thread that was in a handler of its own on an alternate stack. Where on its own stack it was is a guess that may
  // lie too low: as much is copied as there is room for.
  const bool is_main_thread = system_call(SYS_gettid) == system_call(SYS_getpid);
  const AddressRange own = home_stack(*round.regions, is_main_thread, own_thread_pointer());
  const AddressRange left = left_part(slot.registers, {slot.stack_base, stack}, own);
  if (!left.empty()) slot.left = {left.begin, copy_bytes(round, left.begin, left.size())};
}

void pass_on(const struct sigaction& before, int signal, siginfo_t* info, void* context) {
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  }
}

/// Signal-safe: raw system calls and plain memory only.
void handle(int signal, siginfo_t* info, void* context) {
  g_inside.fetch_add(1);
  Round* round = g_round.load();
  const auto* const first = round == nullptr ? nullptr : round->slots.get();
  auto* const slot = static_cast<SignalSlot*>(info->si_value.sival_ptr);
  const bool is_ours = info->si_code == SI_QUEUE && first != nullptr && slot >= first && slot < first + round->count;
  if (is_ours) {
    std::uint32_t asked = SignalSlot::asked;
    if (slot->state.compare_exchange_strong(asked, SignalSlot::copying)) {
      copy_thread(*round, *slot, context);
      slot->state.store(SignalSlot::done);
    }
  } else if (round != nullptr && info->si_code != SI_QUEUE) {
    pass_on(round->before, signal, info, context);
  }
  g_inside.fetch_sub(1);
}

[[nodiscard]] bool ask(ThreadId tid, int signal, SignalSlot& slot) {
  siginfo_t info{};
  info.si_signo = signal;
  info.si_code = SI_QUEUE;
  info.si_pid = ::getpid();
  info.si_uid = ::getuid();
  info.si_value.sival_ptr = &slot;
  return ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), static_cast<pid_t>(tid), signal, &info) == 0;
}

void nap() {
  const timespec t{0, 20'000};
  ::nanosleep(&t, nullptr);
}

}  // namespace

bool SignalCapture::wait_until_done(std::chrono::steady_clock::time_point deadline) const {
  for (std::size_t i = 0; i < round_->count; i++) {
    while (round_->slots[i].state.load() < SignalSlot::done) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      nap();
    }
  }
  return true;
}

std::unique_ptr<std::byte[]> SignalCapture::take_room() {
  return round_ == nullptr ? nullptr : std::move(round_->room);
}

Result<void> SignalCapture::run(const std::vector<ThreadId>& tids, std::chrono::milliseconds timeout) {
  round_ = std::make_unique<Round>();
  Round& round = *round_;
  round.regions = &regions_;
  round.initial = request_.initial_stack_bytes + kRedZone + request_.stack_byte_budget / 16;
  round.count = tids.size();
  round.slots = std::make_unique<SignalSlot[]>(tids.size());
  round.room_size = tids.size() * (request_.initial_stack_bytes + kRedZone) + request_.stack_byte_budget;
  round.room.reset(new (std::nothrow) std::byte[round.room_size]);
  if (round.room == nullptr) return fail(ErrorCode::limit_exceeded, round.room_size, ENOMEM);

  Round* none = nullptr;
  if (!g_round.compare_exchange_strong(none, &round)) return fail(ErrorCode::thread_not_stopped);
  struct sigaction action {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  if (::sigaction(signal_, nullptr, &round.before) != 0 || ::sigaction(signal_, &action, nullptr) != 0) {
    g_round.store(nullptr);
    return fail(ErrorCode::invalid_argument, static_cast<std::uint64_t>(signal_), errno);
  }
  for (std::size_t i = 0; i < tids.size(); i++)
    if (!ask(tids[i], signal_, round.slots[i])) round.slots[i].state.store(SignalSlot::given_up);
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  if (!wait_until_done(deadline)) {
    for (std::size_t i = 0; i < round.count; i++) {
      std::uint32_t asked = SignalSlot::asked;
      round.slots[i].state.compare_exchange_strong(asked, SignalSlot::given_up);
    }
    // Ignoring the signal drops pending ones (POSIX, sigaction): they must not reach the action that is set next.
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    (void)::sigaction(signal_, &ignore, nullptr);
  }
  (void)::sigaction(signal_, &round.before, nullptr);
  g_round.store(nullptr);
  // A handler that was in the middle may take until it is scheduled again; one that never is keeps the memory.
  const auto last = deadline + kGrace;
  while (g_inside.load() != 0 && std::chrono::steady_clock::now() < last) nap();
  if (g_inside.load() == 0) return {};
  (void)round_.release();  // NOLINT: deliberately given up
  return fail(ErrorCode::thread_not_stopped);
}

}  // namespace mixstack::process
