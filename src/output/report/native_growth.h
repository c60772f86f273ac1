// Answers about what makes native memory grow, as text and JSON.
#pragma once

#include "mixstack/native_growth.h"
#include "mixstack/report.h"
#include "output/report/writer.h"

namespace mixstack::report {

void write_native_text(Writer& out, const NativeGrowth& growth, const ReportOptions& options);
void write_native_json(Writer& out, const NativeGrowth& growth);

}  // namespace mixstack::report
