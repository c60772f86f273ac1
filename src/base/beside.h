// Work that goes on beside a thread's own.
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

/// One more thread, which does what it is given one thing after the other: several would take the processor from whom
/// they are to help where there are two. Thread-safe.
class Beside {
 public:
  Beside() = default;
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;
  /// Waits until all is done: what the work refers to must be there until then.
  ~Beside() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  /// `work` begins once all that was given before is done; where no thread can be had, when it is asked for.
  template <class Work>
  [[nodiscard]] auto run(Work work) -> std::future<decltype(work())> {
    using Answer = decltype(work());
    {
      const std::lock_guard lock(mutex_);
      if (begin()) {
        // Of what may only be moved, a function that can be copied.
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
