// Parts of `mixstack why` about what no thread does: thread pool, timers, async methods.
#pragma once

#include "mixstack/dump.h"
#include "output/report/json_fields.h"
#include "output/report/style.h"

namespace mixstack::report {

void write_pending_text(Painter& out, const ProcessDump& dump);
/// Parameters and locals of a chain's methods, where they were asked for: a line for each method.
void write_values(Painter& out, const AsyncChain& chain, bool is_of_several);
/// The key "pending": one object for each runtime that tells.
void write_pending_json(JsonObject& json, Writer& out, const ProcessDump& dump);
/// Async methods between a thread that waits and the thread that runs their end.
void write_pending_dot(Writer& out, const ProcessDump& dump);

}  // namespace mixstack::report
