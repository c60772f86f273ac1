#include "agent/in_process/agent_thread.h"

#include <pthread.h>
#include <sys/syscall.h>

#include <csignal>
#include <ctime>
#include <system_error>
#include <utility>

#include "agent/in_process/thread_clock.h"
#include "base/memory/system_call.h"

namespace mixstack::agent {

void UnsampledThreads::add(std::uint32_t tid) {
  for (auto& slot : tids_) {
    std::uint32_t free = 0;
    if (slot.compare_exchange_strong(free, tid)) return;
  }
}

void UnsampledThreads::remove(std::uint32_t tid) {
  for (auto& slot : tids_) {
    std::uint32_t own = tid;
    if (slot.compare_exchange_strong(own, 0)) return;
  }
}

bool UnsampledThreads::has(std::uint32_t tid) const {
  for (const auto& slot : tids_)
    if (slot.load(std::memory_order_relaxed) == tid) return true;
  return false;
}

std::uint64_t UnsampledThreads::cpu() const {
  std::uint64_t sum = 0;
  for (const auto& slot : tids_)
    if (const std::uint32_t tid = slot.load(); tid != 0) sum += cpu_time(tid);
  return sum;
}

AgentThread::AgentThread(const char* name, UnsampledThreads& own, std::function<void()> body) {
  sigset_t all, before;
  (void)::sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) (void)::sigdelset(&all, fault);
  // Blocked before the thread starts: it inherits the mask, so no signal can reach it first.
  (void)::pthread_sigmask(SIG_BLOCK, &all, &before);
  try {
    thread_ = std::thread([name, &own, body = std::move(body), end = end_] {
      const auto tid = static_cast<std::uint32_t>(memory::system_call(SYS_gettid));
      own.add(tid);
      (void)::pthread_setname_np(::pthread_self(), name);
      body();
      own.remove(tid);
      const std::lock_guard lock(end->mutex);
      end->is_there = true;
      end->changed.notify_all();
    });
  } catch (const std::system_error&) {  // thread creation failed
  }
  (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

AgentThread::~AgentThread() {
  if (thread_.joinable()) thread_.detach();
}

bool AgentThread::ends_within(std::chrono::milliseconds time) {
  if (!thread_.joinable()) return true;
  std::unique_lock lock(end_->mutex);
  const bool has_ended = end_->changed.wait_for(lock, time, [&] { return end_->is_there; });
  lock.unlock();
  has_ended ? thread_.join() : thread_.detach();
  return has_ended;
}

}  // namespace mixstack::agent
