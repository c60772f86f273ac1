// A program that is started as our child, to be recorded from its begin.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mixstack/result.h"
#include "session/launch.h"

namespace mixstack::record {

class LaunchedProgram {
 public:
  /// Errors: as `session::launch`. `adopts`: we become subreaper, so that its orphans become our children and can be
  /// found (`record::adopted`). `user`: the user to run it as; none: ours.
  [[nodiscard]] static Result<LaunchedProgram> start(const std::vector<std::string>& command, bool adopts,
                                                     const std::optional<session::LaunchUser>& user = std::nullopt);

  [[nodiscard]] std::uint32_t pid() const { return pid_; }
  /// Whether it has ended; waits for that at most so long.
  [[nodiscard]] bool has_ended(std::chrono::milliseconds wait = std::chrono::milliseconds(0));
  /// After `has_ended`: "sh ended with exit status 3", "sleep was ended by signal 9 (Killed)". Fit for a terminal.
  [[nodiscard]] std::string end_words() const;
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

}  // namespace mixstack::record
