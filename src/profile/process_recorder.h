// Records one process: threads that take samples, a queue, a thread that walks them.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "profile/batch_queue.h"
#include "profile/stack_recorder.h"

namespace mixstack::profile {

/// Begins with `start` and ends with `stop`, or by itself with the process. Borrows the recording.
class ProcessRecorder {
 public:
  /// At most two sources.
  ProcessRecorder(std::unique_ptr<SharedSession> session, std::vector<std::unique_ptr<SampleSource>> sources,
                  SharedRecording& shared, const StackRecorder::Options& options);
  ~ProcessRecorder();
  ProcessRecorder(const ProcessRecorder&) = delete;
  ProcessRecorder& operator=(const ProcessRecorder&) = delete;

  /// Takes a first look at the process and counts nothing of it: what walks and names need is read then, and not in the
  /// first tenths of a second of the recording. Takes a tenth of a second and what there is to read. Before `start`,
  /// and again while that is some time ahead, lest the kernel's buffers run full.
  void warm_up();
  /// Samples are counted from now on, of a recording that begins and ends at these moments (CLOCK_MONOTONIC, ns). Once.
  void start(std::uint64_t start_ns, std::uint64_t end_ns = UINT64_MAX);
  /// No samples come any more: the process has ended, or taking them failed.
  [[nodiscard]] bool has_ended() const { return has_ended_.load(std::memory_order_acquire); }
  /// Why; code none when it was stopped, `no_such_process` when the process is gone. After `has_ended` or `stop`.
  [[nodiscard]] const Error& end_error() const { return end_error_; }
  /// Ends sampling and waits until what was taken is in the recording. May be called again.
  void stop();
  /// Has what was walked until now in the recording: a stack that stays the same is else written once a second. For who
  /// looks at it meanwhile; any thread.
  void flush() { recorder_.flush(); }
  /// What the sources have lost until a second ago; after `stop` all of it. Any thread.
  [[nodiscard]] SourceAccount account() const;
  [[nodiscard]] std::uint64_t lost_in_queue() const { return queue_.dropped(); }
  [[nodiscard]] std::string source_words() const;
  [[nodiscard]] bool holds_threads() const;
  [[nodiscard]] SharedSession& session() { return *session_; }

 private:
  void take_samples(const std::stop_token& stop, std::uint32_t source);
  void note_account(std::uint32_t source);
  void walk_samples();

  std::unique_ptr<SharedSession> session_;
  std::vector<std::unique_ptr<SampleSource>> sources_;
  BatchQueue queue_;
  StackRecorder recorder_;
  std::atomic<std::uint32_t> sampling_sources_;
  std::atomic<bool> is_over_ = false;  ///< a source found that the process has gone
  std::atomic<bool> has_ended_ = false;
  mutable std::mutex accounts_mutex_;
  std::vector<SourceAccount> accounts_;  ///< by source, of its last second
  std::mutex end_mutex_;
  Error end_error_;
  std::jthread walking_;
  std::vector<std::jthread> sampling_;
};

}  // namespace mixstack::profile
