// Before the stacks: what of the program runs. Behind them: threads that only wait.
#pragma once

#include <span>

#include "mixstack/dump.h"
#include "output/report/options.h"
#include "output/report/style.h"
#include "output/report/thread_role.h"

namespace mixstack::report {

/// One thread of a report and what was found out about it.
struct ThreadView {
  const ThreadDump* thread = nullptr;
  ThreadRole role = ThreadRole::other;
  bool is_idle = false;
  std::size_t user_frame = 0;  ///< the innermost one with code of the program
  [[nodiscard]] bool has_user_code() const { return user_frame < thread->trace.frames.size(); }
};

/// The different stacks of the program's own code, and how many threads are in each, the most frequent first. Nothing
/// for a process of few threads, or without a runtime: its stacks say it as well.
void write_user_code(Painter& out, const ProcessDump& dump, std::span<const ThreadView> threads, const UserCode& user,
                     const ReportOptions& options);

/// "4 pool workers wait for work: 12, 14-16", one line for each role.
void write_idle(Painter& out, std::span<const ThreadView> threads, const ReportOptions& options);

}  // namespace mixstack::report
