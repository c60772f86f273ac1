// The answer of `mixstack why`: as text, as JSON (docs/formats/why.schema.json), and as a graph for Graphviz.
#pragma once

#include <span>

#include "mixstack/dump.h"
#include "model/verdict.h"
#include "report/options.h"
#include "report/writer.h"

namespace mixstack::report {

/// Verdicts first, then what was looked at.
void write_why_text(Writer& out, const ProcessDump& dump, std::span<const Verdict> verdicts,
                    const ReportOptions& options);
void write_why_json(Writer& out, const ProcessDump& dump, std::span<const Verdict> verdicts);
/// One wait, as both schemas have it.
void write_wait_json(Writer& out, const ThreadWait& wait);
/// Threads that wait or are waited for, and what lies between them.
void write_why_dot(Writer& out, const ProcessDump& dump, std::span<const Verdict> verdicts);

/// Whether waits of the process's threads are told: without, no verdict says nothing.
[[nodiscard]] bool knows_waits(const ProcessDump& dump);
/// "deadlock": stable, for programs.
[[nodiscard]] std::string_view verdict_name(VerdictKind kind);

}  // namespace mixstack::report
