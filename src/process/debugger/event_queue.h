// Events between the tracer and the host's loop.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "base/system/scoped_fd.h"
#include "process/debugger/debug_event.h"

namespace mixstack::process {

/// With a descriptor that is readable exactly while events wait. Bounded for what a process can cause at any rate:
/// signals, threads, libraries, new programs, and children that are not followed. Thread-safe.
class EventQueue {
 public:
  EventQueue();
  [[nodiscard]] int fd() const { return ready_.get(); }
  /// Drops such events when the queue is full; never others.
  void push(DebugEvent event);
  [[nodiscard]] std::optional<DebugEvent> pop();
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::uint64_t lost() const;
  /// How many processes can still cause events; waiters look again.
  void set_sources(std::size_t count);
  /// Waits until an event waits or none can come.
  void wait() const;
  void clear();

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<DebugEvent> events_;
  std::uint64_t lost_ = 0;
  std::size_t sources_ = 0;
  void tell() const;
  void hush() const;
  base::ScopedFd ready_, signal_;  ///< of a pipe that holds one byte while events wait
};

}  // namespace mixstack::process
