// Asks a process who makes its objects: a short recording of allocations, and the runtime's own counters beside it.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "mixstack/makers.h"
#include "mixstack/recording.h"
#include "mixstack/report.h"
#include "mixstack/result.h"
#include "mixstack/session.h"

namespace mixstack {

struct MakersOptions {
  std::chrono::milliseconds time{2000};
  /// Called some ten times a second, in the thread that asks. False: enough. Null: none.
  std::function<bool()> may_go_on{};
};

/// Nothing is stopped. Where samples of allocations are not allowed, the bytes of threads are told alone
/// (`why_no_samples`). Errors: those of reading the process, unsupported (a core).
[[nodiscard]] Result<MemoryMakers> ask_makers(Session& session, const MakersOptions& options = {});

/// The types and places of a recording of allocations (`RecordMode::allocations`).
void count_makers(const Recording& recording, MemoryMakers& out);

/// As `mixstack memory --makers` prints it.
void write_text(const MemoryMakers& makers, const ReportSink& sink, const ReportOptions& options = {});
/// One JSON document (docs/formats/makers.schema.json).
void write_json(const MemoryMakers& makers, const ReportSink& sink);

}  // namespace mixstack
