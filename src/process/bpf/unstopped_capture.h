// One capture without a stop.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "process/bpf/task_iterator.h"
#include "process/live/process_view.h"
#include "process/live/root_reads.h"
#include "process/live/stack_copies.h"

namespace mixstack::bpf {

/// Facts of a thread, valid as long as it has not run.
struct KnownThread {
  process::RegisterSet registers;
  std::string comm;
};
using KnownThreads = std::map<ThreadId, KnownThread>;

/// Looks, copies, looks again: threads that did not run in between are captured at that instant. Used once.
class UnstoppedCapture {
 public:
  /// Borrows all. `known`: from the iterator's rounds so far.
  UnstoppedCapture(const process::ProcessView& view, TaskIterator& iterator, KnownThreads& known,
                   const CaptureRequest& request)
      : view_(view), iterator_(iterator), known_(known), request_(request) {}

  [[nodiscard]] Result<Capture> take();

 private:
  using Clock = std::chrono::steady_clock;
  struct Instant;

  [[nodiscard]] Result<void> list_threads();
  [[nodiscard]] Result<std::unique_ptr<Instant>> look();
  [[nodiscard]] Result<void> learn(Instant& instant);
  [[nodiscard]] Result<void> keep_what_stood_still(Instant& instant);
  [[nodiscard]] Capture hand_over(Instant& instant) const;
  [[nodiscard]] ThreadCapture describe_running(ThreadId tid) const;

  const process::ProcessView& view_;
  TaskIterator& iterator_;
  KnownThreads& known_;
  const CaptureRequest& request_;
  Clock::time_point begin_ = Clock::now();
  std::map<ThreadId, char> missing_;  ///< not captured yet, with the state they were seen in last
  std::shared_ptr<process::StackBytes> room_;
};

}  // namespace mixstack::bpf
