// All stacks of a dump as one tree of calls.
#pragma once

#include <span>

#include "mixstack/dump.h"
#include "output/report/options.h"
#include "output/report/overview.h"
#include "output/report/style.h"
#include "output/report/thread_role.h"

namespace mixstack::report {

/// The outermost frame first; calls of the same function in the same place are one line, with the number of threads in
/// it. Lines go in deeper only where threads part. Threads that are idle are left out.
void write_tree(Painter& out, const ProcessDump& dump, std::span<const ThreadView> threads, const UserCode& user,
                const ReportOptions& options);

}  // namespace mixstack::report
