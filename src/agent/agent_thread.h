// Threads of the agent's own in somebody's process.
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

/// Which threads are ours: they are not sampled. Thread-safe, signal-safe.
class OwnThreads {
 public:
  void add(std::uint32_t tid);
  void remove(std::uint32_t tid);
  [[nodiscard]] bool has(std::uint32_t tid) const;
  /// CPU time of those that run, ns.
  [[nodiscard]] std::uint64_t cpu() const;

 private:
  std::array<std::atomic<std::uint32_t>, 8> tids_{};
};

/// A thread that takes no signals but those of its own faults, so that no handler of the process runs on it.
class AgentThread {
 public:
  /// Starts it. `name` is what the kernel calls it, at most 15 characters. Errors of the system: `is_running()` is
  /// false.
  AgentThread(const char* name, OwnThreads& own, std::function<void()> body);
  /// It must have ended or have been given up.
  ~AgentThread();
  AgentThread(const AgentThread&) = delete;
  AgentThread& operator=(const AgentThread&) = delete;

  [[nodiscard]] bool is_running() const { return thread_.joinable(); }
  /// Waits for its end. False: it did not end in time and is given up; what it uses must stay.
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
