// Answers about who makes objects, as text and JSON.
#pragma once

#include "mixstack/makers.h"
#include "mixstack/report.h"
#include "output/report/writer.h"

namespace mixstack::report {

void write_makers_text(Writer& out, const MemoryMakers& makers, const ReportOptions& options);
void write_makers_json(Writer& out, const MemoryMakers& makers);

}  // namespace mixstack::report
