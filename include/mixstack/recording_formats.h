// Recordings as files: our own, and those of other tools.
#pragma once

#include <string_view>
#include <vector>

#include "mixstack/recording.h"
#include "mixstack/report.h"
#include "mixstack/result.h"

namespace mixstack {

/// The part of a recording that a file has. A raw recording has all of it.
struct RecordingPart {
  bool waiting = false;       ///< samples of waiting threads, too
  bool by_thread = false;     ///< each stack begins with its thread
  bool managed_only = false;  ///< frames of managed methods alone
};

/// "folded", "speedscope", "pprof", "firefox", "chrome", "html", "svg", "text", "raw": as `mixstack record --format`.
[[nodiscard]] std::vector<std::string_view> recording_formats();
/// Writes a recording in one of these formats; a piece of the sink is valid during the call only. Errors: unsupported,
/// no such format.
[[nodiscard]] Result<void> write_recording(const Recording& recording, std::string_view format, const ReportSink& sink,
                                           const RecordingPart& part = {});

}  // namespace mixstack
