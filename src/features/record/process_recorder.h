// Records one process: threads that take samples, a queue, and a thread that walks them.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "features/record/batch_queue.h"
#include "features/record/stack_recorder.h"

namespace mixstack::record {

/// Begins with `start` and ends with `stop`, or by itself with the process. Borrows the recording.
class ProcessRecorder {
 public:
  /// At most two sources.
  ProcessRecorder(std::shared_ptr<SharedSession> session, std::vector<std::unique_ptr<SampleSource>> sources,
                  SharedRecording& shared, const StackRecorder::Options& options);
  ~ProcessRecorder();
  ProcessRecorder(const ProcessRecorder&) = delete;
  ProcessRecorder& operator=(const ProcessRecorder&) = delete;

  /// Reads what walks and names need before the recording begins, and counts nothing. Otherwise the first tenths of a
  /// second would pay for it. Takes about a tenth of a second. Call before `start`, and again while the start is some
  /// time ahead, so that the kernel's buffers do not run full.
  void warm_up();
  /// Samples count from now on. The recording begins and ends at these moments (CLOCK_MONOTONIC, ns). Call once.
  void start(std::uint64_t start_ns, std::uint64_t end_ns = UINT64_MAX);
  /// No more samples come: the process has ended, or sampling failed.
  [[nodiscard]] bool has_ended() const { return has_ended_.load(std::memory_order_acquire); }
  /// The reason; code none when it was stopped, `no_such_process` when the process is gone. Call after `has_ended` or
  /// `stop`.
  [[nodiscard]] const Error& end_error() const { return end_error_; }
  /// Stops sampling and waits until all samples taken are in the recording. May be called again.
  void stop();
  /// Writes all that was walked until now into the recording, for readers of a running recording: a stack that stays
  /// the same is otherwise written once a second. Any thread.
  void flush() { recorder_.flush(); }
  /// Losses of the sources until a second ago; after `stop`, all of them. Any thread.
  [[nodiscard]] SourceAccount account() const;
  [[nodiscard]] std::uint64_t lost_in_queue() const { return queue_.dropped(); }
  [[nodiscard]] std::string source_words() const;
  [[nodiscard]] bool holds_threads() const;
  [[nodiscard]] SharedSession& session() { return *session_; }

 private:
  void take_samples(const std::stop_token& stop, std::uint32_t source);
  void note_account(std::uint32_t source);
  void walk_samples();

  std::shared_ptr<SharedSession> session_;
  std::vector<std::unique_ptr<SampleSource>> sources_;
  BatchQueue queue_;
  StackRecorder recorder_;
  std::atomic<std::uint32_t> sampling_sources_;
  std::atomic<bool> is_over_ = false;  ///< a source found that the process is gone
  std::atomic<bool> has_ended_ = false;
  mutable std::mutex accounts_mutex_;
  std::vector<SourceAccount> accounts_;  ///< by source, at most a second old
  std::mutex end_mutex_;
  Error end_error_;
  std::jthread walking_;
  std::vector<std::jthread> sampling_;
};

}  // namespace mixstack::record
