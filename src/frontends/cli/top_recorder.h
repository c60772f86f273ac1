// Records one process for `mixstack top`, without a time limit.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "features/record/kernel_symbols.h"
#include "features/record/open_recorder.h"
#include "features/top/browser.h"
#include "features/top/table_text.h"
#include "frontends/cli/program.h"
#include "frontends/cli/record_arguments.h"

namespace mixstack::cli {

/// Memory is bounded: samples are dropped after the browser has counted them, and a new recording is started when names
/// and stacks have become many. That takes some milliseconds without samples. Not thread-safe.
class TopRecorder {
 public:
  /// Borrows arguments and environment.
  TopRecorder(const RecordArguments& arguments, const Environment& environment, std::uint32_t pid);
  /// Starts sampling. Not `ok`: the failure was reported.
  [[nodiscard]] ExitCode begin();
  /// Adds the samples since the last call to the browser. Follows a process that became another program.
  void update(top::Browser& browser);
  /// No more samples will come.
  [[nodiscard]] bool has_ended() const { return !part_ || part_->opened.recorder->has_ended(); }
  /// Reports how it ended, and returns the exit code; `ok`: it has not ended.
  [[nodiscard]] ExitCode say_end() const;
  /// Stops sampling until `go_on`; if that fails, it has ended.
  void hold(top::Browser& browser);
  void go_on();
  [[nodiscard]] top::HeadFacts facts();
  /// Since the first sample could be taken.
  [[nodiscard]] std::uint64_t elapsed_ns() const { return record::monotonic_ns() - began_ns_; }

 private:
  struct Part {
    record::SharedRecording shared;
    record::OpenedRecorder opened;
  };
  [[nodiscard]] tl::expected<void, record::NotOpened> open_part();
  void take(top::Browser& browser);
  void end_part(top::Browser& browser);
  [[nodiscard]] std::uint64_t lost_of_part() const;
  [[nodiscard]] std::uint64_t skipped_of_part() const;

  const RecordArguments& arguments_;
  const Environment& environment_;
  std::uint32_t pid_;
  std::uint64_t start_ns_, began_ns_;
  std::uint64_t cpu_before_ns_ = 0;  ///< CPU time of mixstack at the start
  ProfileOptions shown_;
  record::KernelSymbols kernel_;
  std::unique_ptr<Part> part_;
  Error end_error_;  ///< of the last part
  std::string command_;
  std::uint64_t samples_ = 0, lost_ = 0, skipped_ = 0;  ///< of ended parts
};

}  // namespace mixstack::cli
