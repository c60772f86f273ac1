// Async methods that have not ended, below the stacks of threads.
#pragma once

#include "mixstack/dump.h"
#include "output/report/options.h"
#include "output/report/style.h"

namespace mixstack::report {

/// Each chain like a stack, innermost method first; with `merge` equal ones once, the most frequent first. Nothing
/// where the dump was made without `DumpOptions::pending_work`.
void write_async_text(Painter& out, const ProcessDump& dump, const ReportOptions& options);

}  // namespace mixstack::report
