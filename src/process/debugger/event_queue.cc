#include "process/debugger/event_queue.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <limits>

namespace mixstack::process {
namespace {

constexpr std::size_t kMost = 65'536;

/// The size of the queue from which on such events are dropped. A process can load libraries and start programs without
/// end, too, but a host needs these more, so they have room of their own. A child that is not followed is only told of;
/// one that is followed would be lost with its event. Each process has some of the rest.
[[nodiscard]] std::size_t limit_of(const DebugEvent& event) {
  switch (event.kind) {
    case DebugEventKind::signalled:
    case DebugEventKind::thread_created:
    case DebugEventKind::thread_exited:
      return kMost;
    case DebugEventKind::forked:
      return event.child ? std::numeric_limits<std::size_t>::max() : kMost;
    case DebugEventKind::library_loaded:
    case DebugEventKind::library_unloaded:
    case DebugEventKind::execed:
      return 2 * kMost;
    default:
      return std::numeric_limits<std::size_t>::max();
  }
}

}  // namespace

EventQueue::EventQueue() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
  ready_ = base::ScopedFd(ends[0]);
  signal_ = base::ScopedFd(ends[1]);
}

void EventQueue::tell() const {
  constexpr std::byte kEvent{1};
  (void)!::write(signal_.get(), &kEvent, sizeof kEvent);
}

void EventQueue::hush() const {
  // The waiter may have read the byte already.
  std::array<std::byte, 16> bytes;
  (void)!::read(ready_.get(), bytes.data(), bytes.size());
}

void EventQueue::push(DebugEvent event) {
  const std::lock_guard lock(mutex_);
  if (events_.size() >= limit_of(event)) {
    lost_++;
    return;
  }
  events_.push_back(std::move(event));
  if (events_.size() == 1) tell();
  changed_.notify_all();
}

std::optional<DebugEvent> EventQueue::pop() {
  const std::lock_guard lock(mutex_);
  if (events_.empty()) return std::nullopt;
  std::optional<DebugEvent> event(std::move(events_.front()));
  events_.pop_front();
  if (events_.empty()) hush();
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
  hush();
}

}  // namespace mixstack::process
