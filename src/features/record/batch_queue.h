// Batches of samples on their way from a source to the thread that walks them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "features/record/sample_source.h"

namespace mixstack::record {

/// Bounded: a source waits while the queue is full. Losses during that wait are counted by the source (the kernel's
/// rings, rounds skipped). A sample dropped here would leave its thread in an older stack. Thread-safe.
class BatchQueue {
 public:
  static constexpr std::size_t kMostBatches = 256;
  static constexpr std::size_t kMostBytes = 64u << 20;  ///< of copied stacks

  /// False: a stop was requested or the queue is closed; the batch is dropped, and counted.
  bool push(SampleBatch batch, const std::stop_token& stop) {
    std::size_t bytes = 0;
    for (const ThreadCapture& thread : batch.threads) bytes += thread.stack.bytes.size();
    std::unique_lock lock(mutex_);
    const auto has_room = [&] {
      return closed_ || waiting_.empty() || (waiting_.size() < kMostBatches && bytes_ + bytes <= kMostBytes);
    };
    if (!emptied_.wait(lock, stop, has_room) || closed_) {
      dropped_ += batch.samples.size() + batch.repeats.size();
      return false;
    }
    bytes_ += bytes;
    waiting_.push_back({std::move(batch), bytes});
    filled_.notify_one();
    return true;
  }
  /// Waits; nothing when the queue is closed and empty.
  [[nodiscard]] std::optional<SampleBatch> pop() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [this] { return closed_ || !waiting_.empty(); });
    if (waiting_.empty()) return std::nullopt;
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    bytes_ -= next.bytes;
    emptied_.notify_all();
    return std::move(next.batch);
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    filled_.notify_all();
    emptied_.notify_all();
  }
  [[nodiscard]] std::uint64_t dropped() const {
    const std::lock_guard lock(mutex_);
    return dropped_;
  }

 private:
  struct Waiting {
    SampleBatch batch;
    std::size_t bytes = 0;
  };
  mutable std::mutex mutex_;
  std::condition_variable filled_;
  std::condition_variable_any emptied_;
  std::deque<Waiting> waiting_;
  std::size_t bytes_ = 0;
  std::uint64_t dropped_ = 0;
  bool closed_ = false;
};

}  // namespace mixstack::record
