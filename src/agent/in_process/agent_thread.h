// The agent's own threads in the host process.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace mixstack::agent {

/// The TIDs of our own threads, which are not sampled. Thread-safe, signal-safe.
class UnsampledThreads {
 public:
  void add(std::uint32_t tid);
  void remove(std::uint32_t tid);
  [[nodiscard]] bool has(std::uint32_t tid) const;
  /// CPU time of the running ones, ns.
  [[nodiscard]] std::uint64_t cpu() const;

 private:
  std::array<std::atomic<std::uint32_t>, 8> tids_{};
};

/// A thread with all signals but its own faults blocked, so that no handler of the process runs on it.
class AgentThread {
 public:
  /// Starts it. `name` is its comm, at most 15 characters. On failure `is_running()` is false.
  AgentThread(const char* name, UnsampledThreads& own, std::function<void()> body);
  /// Only after `ends_within`; a running thread is detached.
  ~AgentThread();
  AgentThread(const AgentThread&) = delete;
  AgentThread& operator=(const AgentThread&) = delete;

  [[nodiscard]] bool is_running() const { return thread_.joinable(); }
  /// Waits for its end. False: it did not end in time and is detached; keep the memory that it uses.
  [[nodiscard]] bool ends_within(std::chrono::milliseconds time);

 private:
  struct End {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_there = false;
  };
  std::shared_ptr<End> end_ = std::make_shared<End>();
  std::thread thread_;
};

}  // namespace mixstack::agent
