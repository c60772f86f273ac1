#include "frontends/cli/record_progress.h"

#include "frontends/cli/output.h"
#include "frontends/cli/terminal.h"
#include "output/report/fit.h"
#include "output/report/recording_summary.h"

namespace mixstack::cli {
ProgressLine::ProgressLine(int fd, bool quiet) : fd_(fd), columns_(quiet ? 0 : terminal_size(fd).columns) {}

void ProgressLine::show(record::SharedRecording& shared, std::uint64_t elapsed_ns, std::uint64_t own_cpu_ns) {
  constexpr std::uint64_t kInterval = 250'000'000;
  if (columns_ == 0 || elapsed_ns - shown_ns_ < kInterval) return;
  shown_ns_ = elapsed_ns;
  std::string text;
  {
    const std::lock_guard lock(shared.mutex);
    text = report::progress_words(shared.recording, elapsed_ns, own_cpu_ns);
  }
  FdOutput(fd_).write("\r" + report::cut_to(text, columns_ - 1) + "\033[K");
  is_there_ = true;
}

void ProgressLine::end() {
  if (is_there_) FdOutput(fd_).write("\r\033[K");
  is_there_ = false;
}

}  // namespace mixstack::cli
