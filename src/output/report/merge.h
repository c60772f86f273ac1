// Threads with the same stack, together.
#pragma once

#include <vector>

#include "mixstack/dump.h"
#include "output/report/options.h"

namespace mixstack::report {

/// Threads whose stacks read the same: the same functions (name, module, kind) in the same order, each managed one in
/// the same call (equal return addresses), ended for the same reason. The first thread stands for all; `same_addresses`
/// says whether its other instruction pointers do, too: those of native code, and of managed code that was interrupted.
struct StackGroup {
  std::vector<const ThreadDump*> threads;  ///< borrowed from the dump, by tid
  bool same_addresses = true;
};

/// The groups, largest first, then by the first thread's place in the dump. Frames that `options` hides do not count.
[[nodiscard]] std::vector<StackGroup> merge_stacks(const ProcessDump& dump, const ReportOptions& options);

}  // namespace mixstack::report
