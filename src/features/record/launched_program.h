// A program that is started as our child, to be recorded from its begin.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "features/record/recordings.h"
#include "mixstack/result.h"
#include "session/launch.h"

namespace mixstack::record {

class LaunchedProgram {
 public:
  /// Errors: as `session::launch`. `adopts`: we become subreaper, so that its orphans become our children and can be
  /// found (`record::adopted`). `user`: the user to run it as; none: ours.
  [[nodiscard]] static Result<LaunchedProgram> start(const std::vector<std::string>& command, bool adopts,
                                                     const std::optional<base::User>& user = std::nullopt);

  [[nodiscard]] std::uint32_t pid() const { return pid_; }
  /// Whether it has ended; waits for that at most so long.
  [[nodiscard]] bool has_ended(std::chrono::milliseconds wait = std::chrono::milliseconds(0));
  /// After `has_ended`: "sh ended with exit status 3", "sleep was ended by signal 9 (Killed)". Fit for a terminal.
  [[nodiscard]] std::string end_words() const;
  /// Begins to record the process that it has become. One that is in the middle of an exec cannot be opened yet, and
  /// one that has ended may have left child processes behind: where `recordings` follow them, it is tried for a while.
  [[nodiscard]] tl::expected<void, NotOpened> begin(Recordings& recordings, const RecordingsOptions& options) const;
  /// After `has_ended`: its exit status, or 128 + the signal's number, as in a shell.
  [[nodiscard]] int exit_status() const;
  /// Its name as it was started, fit for a terminal.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  LaunchedProgram(std::uint32_t pid, std::string name) : pid_(pid), name_(std::move(name)) {}

  std::uint32_t pid_;
  std::string name_;
  std::optional<int> status_;  ///< from waitpid
};

/// "worker (pid 7), worker (pid 8) and so on", some at most.
[[nodiscard]] std::string names_of(const std::vector<std::uint32_t>& pids);

}  // namespace mixstack::record
