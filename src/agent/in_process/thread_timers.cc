#include "agent/in_process/thread_timers.h"

#include <sys/syscall.h>
#include <time.h>

#include <csignal>
#include <iterator>
#include <unordered_set>

#include "agent/in_process/thread_clock.h"
#include "base/memory/system_call.h"

// glibc before 2.41 has no name for this field.
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace mixstack::agent {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

[[nodiscard]] timespec time_of(std::uint64_t ns) {
  return {static_cast<time_t>(ns / kSecond), static_cast<long>(ns % kSecond)};
}

template <class T>
[[nodiscard]] std::uint64_t word(const T* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

// System calls, since the C library's functions keep their own records of timers and reject some clocks.
void delete_timer(int timer) { (void)memory::system_call(SYS_timer_delete, static_cast<std::uint64_t>(timer)); }

}  // namespace

ThreadTimers::ThreadTimers(unsigned hertz, int signal, void* mark)
    : period_(kSecond / hertz),
      signal_(signal),
      mark_(mark),
      random_(static_cast<std::minstd_rand::result_type>(memory::system_call(SYS_gettid)) + hertz) {}

void ThreadTimers::stop() {
  const std::lock_guard lock(mutex_);
  for (const auto& [tid, timer] : timers_) delete_timer(timer);
  timers_.clear();
  is_stopped_ = true;
}

/// The timer of a thread that has ended is disarmed (posix_cpu_timer_get in kernel/time/posix-cpu-timers.c).
bool ThreadTimers::is_of_living(Timer timer) const {
  itimerspec left{};
  if (memory::system_call(SYS_timer_gettime, static_cast<std::uint64_t>(timer), word(&left)) < 0) return false;
  return left.it_value.tv_sec != 0 || left.it_value.tv_nsec != 0;
}

bool ThreadTimers::make(std::uint32_t tid) {
  if (is_stopped_) return false;
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal_;
  event.sigev_value.sival_ptr = mark_;
  event.sigev_notify_thread_id = static_cast<pid_t>(tid);
  Timer timer = 0;
  const auto clock = static_cast<std::uint64_t>(static_cast<std::int64_t>(cpu_clock(tid)));
  if (memory::system_call(SYS_timer_create, clock, word(&event), word(&timer)) < 0) return false;
  const itimerspec every{time_of(period_), time_of(1 + random_() % period_)};
  if (memory::system_call(SYS_timer_settime, static_cast<std::uint64_t>(timer), 0, word(&every)) < 0) {
    delete_timer(timer);
    return false;
  }
  timers_.emplace(tid, timer);
  return true;
}

bool ThreadTimers::add(std::uint32_t tid) {
  const std::lock_guard lock(mutex_);
  if (const auto known = timers_.find(tid); known != timers_.end()) {
    if (is_of_living(known->second)) return true;
    delete_timer(known->second);
    timers_.erase(known);
  }
  return make(tid);
}

void ThreadTimers::update(std::span<const std::uint32_t> tids) {
  const std::unordered_set<std::uint32_t> present(tids.begin(), tids.end());
  const std::lock_guard lock(mutex_);
  for (auto it = timers_.begin(); it != timers_.end();) {
    const bool stays = present.contains(it->first) && is_of_living(it->second);
    if (!stays) delete_timer(it->second);
    it = stays ? std::next(it) : timers_.erase(it);
  }
  refused_ = 0;
  for (const std::uint32_t tid : present)
    if (!timers_.contains(tid) && !make(tid)) refused_++;
}

std::size_t ThreadTimers::size() const {
  const std::lock_guard lock(mutex_);
  return timers_.size();
}

std::size_t ThreadTimers::refused() const {
  const std::lock_guard lock(mutex_);
  return refused_;
}

}  // namespace mixstack::agent
