// A dump for people.
#pragma once

#include "mixstack/dump.h"
#include "output/report/options.h"
#include "output/report/writer.h"

namespace mixstack::report {

/// The process, every thread with its stack, and what failed. Nothing that came from the target reaches the output
/// unescaped.
void write_text(Writer& out, const ProcessDump& dump, const ReportOptions& options);

}  // namespace mixstack::report
