// The progress line of a recording.
#pragma once

#include <string>

#include "features/record/stack_recorder.h"

namespace mixstack::cli {

/// One line that is overwritten, if standard error is a terminal.
class ProgressLine {
 public:
  ProgressLine(int fd, bool quiet);
  /// At most four times a second.
  void show(record::SharedRecording& shared, std::uint64_t elapsed_ns, std::uint64_t own_cpu_ns);
  /// Erases the line.
  void end();

 private:
  int fd_;
  std::size_t columns_;  ///< of the terminal; 0: nothing is shown
  std::uint64_t shown_ns_ = 0;
  bool is_there_ = false;
};

}  // namespace mixstack::cli
