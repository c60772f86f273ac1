// Records one process for a live view, without a time limit.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "features/record/kernel_symbols.h"
#include "features/record/open_recorder.h"
#include "features/top/browser.h"
#include "features/top/table_text.h"

namespace mixstack::top {

struct LiveRecorderOptions {
  record::RecorderOptions recorder{};  ///< `stacks.process`, `.kernel` and `.start_ns` are ours
  ProfileOptions shown{};              ///< which samples and frames are counted
  std::function<Result<std::unique_ptr<Session>>(std::uint32_t pid)> open_process = Session::open_process;
};

/// Memory is bounded: samples are dropped after the browser has counted them, and a new recording is started when names
/// and stacks have become many. That takes some milliseconds without samples. Not thread-safe.
class LiveRecorder {
 public:
  LiveRecorder(LiveRecorderOptions options, std::uint32_t pid);
  /// Starts sampling. Errors: as `record::open_recorder`.
  [[nodiscard]] tl::expected<void, record::NotOpened> begin();
  /// Adds the samples since the last call to the browser. Follows a process that became another program.
  void update(Browser& browser);
  /// No more samples will come.
  [[nodiscard]] bool has_ended() const { return !part_ || part_->opened.recorder->has_ended(); }
  /// Why it has ended; code none: it has not, or was stopped.
  [[nodiscard]] Error end_error() const;
  /// Stops sampling until `go_on`; if that fails, it has ended.
  void hold(Browser& browser);
  void go_on();
  [[nodiscard]] TopFacts facts();
  /// Since the first sample could be taken.
  [[nodiscard]] std::uint64_t elapsed_ns() const { return record::monotonic_ns() - began_ns_; }

 private:
  struct Part {
    record::SharedRecording shared;
    record::OpenedRecorder opened;
  };
  [[nodiscard]] tl::expected<void, record::NotOpened> open_part();
  void take(Browser& browser);
  void end_part(Browser& browser);
  [[nodiscard]] std::uint64_t lost_of_part() const;
  [[nodiscard]] std::uint64_t skipped_of_part() const;

  LiveRecorderOptions options_;
  std::uint32_t pid_;
  std::uint64_t start_ns_, began_ns_;
  std::uint64_t cpu_before_ns_ = 0;  ///< CPU time of mixstack at the start
  record::KernelSymbols kernel_;
  std::unique_ptr<Part> part_;
  Error end_error_;  ///< of the last part
  std::string command_;
  std::uint64_t samples_ = 0, lost_ = 0, skipped_ = 0;  ///< of ended parts
};

}  // namespace mixstack::top
