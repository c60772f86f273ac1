#include "target/debug/event_queue.h"

#include <sys/eventfd.h>

namespace mixstack::target {
namespace {

constexpr std::size_t kMost = 65'536;

[[nodiscard]] bool is_dispensable(DebugEventKind kind) {
  return kind == DebugEventKind::signalled || kind == DebugEventKind::thread_created ||
         kind == DebugEventKind::thread_exited;
}

}  // namespace

EventQueue::EventQueue() : ready_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void EventQueue::push(DebugEvent event) {
  const std::lock_guard lock(mutex_);
  if (events_.size() >= kMost && is_dispensable(event.kind)) {
    lost_++;
    return;
  }
  events_.push_back(std::move(event));
  if (events_.size() == 1) (void)::eventfd_write(ready_.get(), 1);
  changed_.notify_all();
}

std::optional<DebugEvent> EventQueue::pop() {
  const std::lock_guard lock(mutex_);
  if (events_.empty()) return std::nullopt;
  std::optional<DebugEvent> event(std::move(events_.front()));
  events_.pop_front();
  eventfd_t count = 0;
  if (events_.empty()) (void)::eventfd_read(ready_.get(), &count);
  return event;
}

std::size_t EventQueue::size() const {
  const std::lock_guard lock(mutex_);
  return events_.size();
}

std::uint64_t EventQueue::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

void EventQueue::set_sources(std::size_t count) {
  const std::lock_guard lock(mutex_);
  sources_ = count;
  changed_.notify_all();
}

void EventQueue::wait() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !events_.empty() || sources_ == 0; });
}

void EventQueue::clear() {
  std::deque<DebugEvent> dropped;  // outlives the lock: what events refer to may be destroyed with them
  const std::lock_guard lock(mutex_);
  std::swap(dropped, events_);
  eventfd_t count = 0;
  (void)::eventfd_read(ready_.get(), &count);
}

}  // namespace mixstack::target
