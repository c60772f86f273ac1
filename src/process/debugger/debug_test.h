// Shared helpers of the tests of this folder.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <deque>
#include <mutex>
#include <set>

#include "process/debugger/debug_session.h"
#include "process/live/test_process.h"

namespace mixstack::process::test {

using Kind = DebugEventKind;

/// A session whose events are kept, with an event loop as a host has one: poll, then handle.
class Loop {
 public:
  Loop() : session_(DebugSession::open()) {
    if (session_) (*session_)->add_handler([this](const DebugEvent& e) { events_.push_back(e); });
  }
  [[nodiscard]] bool is_open() const { return session_.has_value(); }
  DebugSession* operator->() { return session_->get(); }
  DebugSession& operator*() { return **session_; }
  void close() { session_->reset(); }

  void turn(int milliseconds = 20) {
    pollfd ready{(*session_)->event_fd(), POLLIN, 0};
    if (::poll(&ready, 1, milliseconds) > 0) (*session_)->handle_events(false);
  }
  /// Turns until the condition holds.
  bool until(const std::function<bool()>& condition, std::chrono::seconds limit = 30s) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      turn();
    }
    return true;
  }
  [[nodiscard]] std::size_t count(Kind kind, std::uint32_t pid = 0) const {
    std::size_t n = 0;
    for (const auto& e : events_) n += e.kind == kind && (pid == 0 || e.pid == pid) ? 1 : 0;
    return n;
  }
  bool until_seen(Kind kind, std::uint32_t pid = 0, std::size_t times = 1) {
    return until([&] { return count(kind, pid) >= times; });
  }
  [[nodiscard]] const DebugEvent* first(Kind kind, std::uint32_t pid = 0) const {
    for (const auto& e : events_)
      if (e.kind == kind && (pid == 0 || e.pid == pid)) return &e;
    return nullptr;
  }
  [[nodiscard]] const std::deque<DebugEvent>& events() const { return events_; }
  void forget() { events_.clear(); }

 private:
  Result<std::unique_ptr<DebugSession>> session_;
  std::deque<DebugEvent> events_;
};

/// Whether it does something: the counter moves.
inline bool counts(const TestProcess& process, std::chrono::seconds limit = 30s) {
  const long before = process.shared().counter;
  return eventually([&] { return process.shared().counter > before; }, limit);
}
inline bool stands(const TestProcess& process) {
  const long before = process.shared().counter;
  nap(20ms);
  return process.shared().counter == before;
}

inline void* counting_thread(void* shared) {
  auto& s = *static_cast<Shared*>(shared);
  s.ready++;
  for (;;) s.counter++;
}
inline void* waiting_thread(void* shared) {
  static_cast<Shared*>(shared)->ready++;
  for (;;) ::pause();
}

inline void* short_lived(void* shared) {
  auto& s = *static_cast<Shared*>(shared);
  s.counter++;
  s.values[2]--;
  return nullptr;
}
/// Makes threads, not more than fifty at a time, while `go` is set.
inline void* spawner(void* shared) {
  auto& s = *static_cast<Shared*>(shared);
  s.ready++;
  for (;;) {
    while (s.go == 0) nap(1ms);
    if (s.values[2]++ < 50 && try_start_thread(short_lived, shared, 64 << 10)) continue;
    s.values[2]--;
    nap(200us);
  }
}

}  // namespace mixstack::process::test
