// Exceptions in flight and the end of a process in the text report: the lines below a thread's line.
#pragma once

#include "mixstack/dump.h"
#include "output/report/fold.h"
#include "output/report/options.h"
#include "output/report/style.h"

namespace mixstack::report {

/// Writes nothing for a thread that has no exception.
void write_exceptions(Painter& out, const ProcessDump& dump, const ThreadDump& thread, const ReportOptions& options,
                      Folder& folder);

/// "... 24,013 more times the 2 frames above".
[[nodiscard]] std::string repeat_words(const Repeat& repeat);

}  // namespace mixstack::report
