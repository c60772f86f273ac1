// Errors as JSON.
#pragma once

#include "output/report/json_fields.h"

#include "mixstack/result.h"

namespace mixstack::report {

void write_error(Writer& out, const Error& error);
/// The field `key`: an error object, or null when there is no error.
void error_or_null(JsonObject& object, std::string_view key, Writer& out, const Error& error);

}  // namespace mixstack::report
