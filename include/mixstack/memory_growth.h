// Growth of a process: its memory at two moments.
#pragma once

#include <chrono>
#include <functional>

#include "mixstack/ask_memory.h"
#include "mixstack/memory_moment.h"

namespace mixstack {

[[nodiscard]] MemoryMoment moment_of(MemoryAnswer answer);
/// As `mixstack memory` shows it.
[[nodiscard]] MemoryAnswer answer_of(MemoryMoment moment);

/// Pure: of any two moments, of different processes, too.
[[nodiscard]] MemoryGrowth growth_of(const MemoryMoment& before, const MemoryMoment& after);

struct GrowthOptions {
  MemoryOptions memory{};
  std::chrono::milliseconds after{60'000};  ///< between the two moments
  /// With `memory.types`: also count generation 2 after full collections that come meanwhile. Nothing is stopped for
  /// that, and it takes at most a tenth of one processor.
  bool watch_collections = true;
  /// Asked every 50 ms; true: the second moment is now. Null: never.
  std::function<bool()> is_enough{};
};

struct MemoryTwice {
  MemoryMoment before, after;
  MemoryGrowth growth;
};

/// Asks a process twice. Errors: those of `ask_memory`; `unsupported`: a core.
[[nodiscard]] Result<MemoryTwice> ask_memory_twice(Session& session, const GrowthOptions& options = {});

/// As `mixstack memory --after` and `mixstack memory diff` print it.
void write_text(const MemoryGrowth& growth, const ReportSink& sink, const ReportOptions& options = {});
/// One JSON document (docs/formats/memory-growth.schema.json).
void write_json(const MemoryGrowth& growth, const ReportSink& sink);
/// One page that a browser shows, without a network.
void write_html(const MemoryTwice& twice, const ReportSink& sink);

}  // namespace mixstack
