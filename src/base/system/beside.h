// A helper thread with a queue of work.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace mixstack::base {

/// One extra thread that runs queued work in order. One is enough: on a machine with two CPUs, more would take the CPU
/// from the thread they help. Thread-safe.
class Beside {
 public:
  Beside() = default;
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;
  /// Waits until the queue is empty: objects that the work refers to must live until then.
  ~Beside() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  /// `work` runs after all work queued before it. If no thread can be started, it runs when the future is waited for.
  template <class Work>
  [[nodiscard]] auto run(Work work) -> std::future<decltype(work())> {
    using Answer = decltype(work());
    {
      const std::lock_guard lock(mutex_);
      if (begin()) {
        // std::function must be copyable, and a packaged_task can only be moved: share it.
        auto task = std::make_shared<std::packaged_task<Answer()>>(std::move(work));
        auto answer = task->get_future();
        work_.emplace_back([task] { (*task)(); });
        changed_.notify_one();
        return answer;
      }
    }
    return std::async(std::launch::deferred, std::move(work));
  }

 private:
  [[nodiscard]] bool begin() {
    if (thread_.joinable()) return true;
    try {
      thread_ = std::thread([this] { work_off(); });
    } catch (const std::system_error&) {
      return false;
    }
    return true;
  }

  void work_off() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return is_over_ || !work_.empty(); });
      if (work_.empty()) return;
      const std::function<void()> next = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      next();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace mixstack::base
