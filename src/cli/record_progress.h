// What is said while a recording runs, and at its end.
#pragma once

#include <string>

#include "profile/stack_recorder.h"

namespace mixstack::cli {

/// One line, written over itself, where standard error is a terminal.
class Progress {
 public:
  Progress(int fd, bool quiet);
  /// At most four times a second.
  void show(profile::SharedRecording& shared, std::uint64_t elapsed_ns, std::uint64_t own_cpu_ns);
  /// Takes the line away.
  void end();

 private:
  int fd_;
  std::size_t columns_;  ///< of the terminal; 0: nothing is shown
  std::uint64_t shown_ns_ = 0;
  bool is_there_ = false;
};

/// What was taken and what was not: some lines. With `stats` how long threads were held. `is_throttled`: a CPU quota
/// stopped them, so that who was ready to run says nothing of the machine.
[[nodiscard]] std::string summary_text(const Recording& recording, bool stats, bool is_throttled = false);

}  // namespace mixstack::cli
