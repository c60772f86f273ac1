// What `mixstack top` records: one process, for as long as one looks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cli/program.h"
#include "cli/record_arguments.h"
#include "profile/kernel_symbols.h"
#include "profile/open_recorder.h"
#include "top/browser.h"
#include "top/table_text.h"

namespace mixstack::cli {

/// Bounded memory: samples are forgotten when the browser has counted them, and when names and stacks have become many,
/// another recording is begun. That takes some milliseconds in which nothing is sampled. One thread.
class TopRecorder {
 public:
  /// Borrows both.
  TopRecorder(const RecordArguments& arguments, const Environment& environment, std::uint32_t pid);
  /// Any other answer than `ok`: it is said why.
  [[nodiscard]] ExitCode begin();
  /// Has the browser count what was sampled since. A process that became another program is followed.
  void update(top::Browser& browser);
  /// No samples come any more.
  [[nodiscard]] bool has_ended() const { return !part_ || part_->opened.recorder->has_ended(); }
  /// Says how it ended, and answers the exit code of that; `ok` where it did not.
  [[nodiscard]] ExitCode say_end() const;
  /// Takes no samples until `go_on`; where that fails, it has ended.
  void hold(top::Browser& browser);
  void go_on();
  [[nodiscard]] top::HeadFacts facts();
  /// Since the first sample could be taken.
  [[nodiscard]] std::uint64_t elapsed_ns() const { return profile::monotonic_ns() - began_ns_; }

 private:
  struct Part {
    profile::SharedRecording shared;
    profile::OpenedRecorder opened;
  };
  [[nodiscard]] tl::expected<void, profile::NotOpened> open_part();
  void take(top::Browser& browser);
  void end_part(top::Browser& browser);
  [[nodiscard]] std::uint64_t lost_of_part() const;
  [[nodiscard]] std::uint64_t skipped_of_part() const;

  const RecordArguments& arguments_;
  const Environment& environment_;
  std::uint32_t pid_;
  std::uint64_t start_ns_, began_ns_;
  std::uint64_t cpu_before_ns_ = 0;  ///< of ours, when samples began
  ProfileOptions shown_;
  profile::KernelSymbols kernel_;
  std::unique_ptr<Part> part_;
  Error end_error_;  ///< of the last part
  std::string command_;
  std::uint64_t samples_ = 0, lost_ = 0, skipped_ = 0;  ///< of parts that are over
};

}  // namespace mixstack::cli
