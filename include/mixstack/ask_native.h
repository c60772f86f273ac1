// Asks a process who makes its memory outside of the managed heap grow.
#pragma once

#include <chrono>
#include <functional>

#include "mixstack/native_growth.h"
#include "mixstack/report.h"
#include "mixstack/result.h"
#include "mixstack/session.h"

namespace mixstack {

struct NativeOptions {
  std::chrono::milliseconds time{10000};
  /// Called some ten times a second, in the thread that asks. False: enough. Null: none.
  std::function<bool()> may_go_on{};
};

/// Stacks of page faults, and of the calls that map memory where tracepoints are allowed, joined with the pages that
/// are there before and after. Nothing is stopped. Errors: those of reading the process and of perf events
/// (permission_denied, unsupported ...), unsupported (a core), process_changed (it ended meanwhile).
[[nodiscard]] Result<NativeGrowth> ask_native(Session& session, const NativeOptions& options = {});

/// As `mixstack memory --native` prints it.
void write_text(const NativeGrowth& growth, const ReportSink& sink, const ReportOptions& options = {});
/// One JSON document (docs/formats/native.schema.json).
void write_json(const NativeGrowth& growth, const ReportSink& sink);

}  // namespace mixstack
