// The counters of a runtime in JSON.
#pragma once

#include "mixstack/counters.h"
#include "output/report/json_fields.h"

namespace mixstack::report {

/// Writes the field "counters". Those that are not known are left out.
void write_counters(JsonObject& object, Writer& out, const RuntimeCounters& counters);

}  // namespace mixstack::report
