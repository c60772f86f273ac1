#include "output/report/symbols_hint.h"

#include <fmt/format.h>

#include "output/report/escape.h"
#include "output/report/frame_view.h"

namespace mixstack::report {
namespace {

constexpr std::size_t kMany = 10;

std::size_t nameless_of(const ProcessDump& dump, const ThreadDump& thread) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < thread.trace.frames.size(); i++) {
    const Frame& frame = thread.trace.frames[i];
    // Code of no image has no symbols anywhere.
    if (frame.kind == FrameKind::native && frame.module != kNoModule && symbol_of(dump, thread, i).name.empty())
      count++;
  }
  return count;
}

/// A core out of a pipe or the system's store has no path that one could type.
std::string target_words(const TargetInfo& target) {
  if (target.core_path.empty()) return std::to_string(target.pid);
  const bool is_nowhere = target.core_path == "-" || target.core_path.starts_with("/proc/");
  return "--core " + (is_nowhere ? std::string("FILE") : escape_for_terminal(target.core_path));
}

}  // namespace

std::string symbols_hint(const ProcessDump& dump, std::span<const ThreadView> threads, const ReportOptions& options) {
  if (options.managed_only) return {};
  std::size_t count = 0;
  for (const ThreadView& view : threads)
    if (!view.is_idle) count += nameless_of(dump, *view.thread);
  if (count < kMany) return {};
  return fmt::format("{} frames without symbols: mixstack symbols fetch {} asks servers for them", count,
                     target_words(dump.target));
}

}  // namespace mixstack::report
