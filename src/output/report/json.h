// A dump as one JSON document: docs/formats/dump.schema.json.
#pragma once

#include <span>

#include "mixstack/counters.h"
#include "mixstack/dump.h"
#include "output/report/options.h"
#include "output/report/writer.h"

namespace mixstack::report {

/// Always valid UTF-8 JSON, whatever the names hold; one frame a line. Written as it is made: the document is never in
/// memory as a whole.
/// `counters` are those of the dump's runtimes, or empty.
void write_json(Writer& out, const ProcessDump& dump, const ReportOptions& options,
                std::span<const RuntimeCounters> counters = {});

}  // namespace mixstack::report
