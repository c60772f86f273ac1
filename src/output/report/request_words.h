// Requests that are under way, in words and as JSON.
#pragma once

#include <string>

#include "mixstack/dump.h"
#include "output/report/writer.h"

namespace mixstack::report {

/// "3 requests in flight: 2 GET, 1 POST; 1 call by HttpClient: GET; 1 database command"; empty: none.
[[nodiscard]] std::string requests_words(const PendingWork& pending);
/// "GET /prices/12 on thread 4711 \"worker\", for 3.2 s"; without the user's own data "GET on thread 4711".
[[nodiscard]] std::string request_words(const ProcessDump& dump, const PendingWork& pending, const Request& request);
void write_request_json(Writer& out, const Request& request);

}  // namespace mixstack::report
