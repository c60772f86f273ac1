#include "frontends/cli/record_progress.h"

#include <fmt/format.h>

#include "frontends/cli/fd_output.h"
#include "frontends/cli/terminal.h"
#include "output/report/fit.h"
#include "output/report/recording_summary.h"
#include "output/report/words.h"

namespace mixstack::cli {
namespace {

/// The longest prefix of whole characters that fits.
std::string fitted(std::string text, std::size_t columns) {
  while (report::columns(text) > columns && !text.empty()) {
    do {
      text.pop_back();
    } while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0u) == 0x80u);
  }
  return text;
}

}  // namespace

ProgressLine::ProgressLine(int fd, bool quiet) : fd_(fd), columns_(quiet ? 0 : terminal_size(fd).columns) {}

void ProgressLine::show(record::SharedRecording& shared, std::uint64_t elapsed_ns, std::uint64_t own_cpu_ns) {
  constexpr std::uint64_t kInterval = 250'000'000;
  if (columns_ == 0 || elapsed_ns - shown_ns_ < kInterval) return;
  shown_ns_ = elapsed_ns;
  std::string text;
  {
    const std::lock_guard lock(shared.mutex);
    const RecordingAccount& account = shared.recording.facts.account;
    text = fmt::format("{:.0f} s, {}, own CPU {:.1f} %", static_cast<double>(elapsed_ns) / 1e9,
                       report::counted(account.samples, "sample"),
                       100.0 * static_cast<double>(own_cpu_ns) / static_cast<double>(elapsed_ns));
    if (const std::uint64_t lost = account.lost_in_queue + account.lost_in_tree; lost != 0)
      text += fmt::format(", {} lost", lost);
    if (const std::string name = report::hottest_words(shared.recording); !name.empty()) text += ", " + name;
  }
  FdOutput(fd_).write("\r" + fitted(text, columns_ - 1) + "\033[K");
  is_there_ = true;
}

void ProgressLine::end() {
  if (is_there_) FdOutput(fd_).write("\r\033[K");
  is_there_ = false;
}

}  // namespace mixstack::cli
