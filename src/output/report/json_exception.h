// Exceptions in flight and the end of a process as JSON.
#pragma once

#include "mixstack/dump.h"
#include "output/report/json_fields.h"

namespace mixstack::report {

/// The fields "exceptions", "exceptions_are_cut" and "abort" of a managed thread.
void write_exceptions(JsonObject& object, Writer& out, const ProcessDump& dump, const ManagedThreadFacts& managed);

}  // namespace mixstack::report
