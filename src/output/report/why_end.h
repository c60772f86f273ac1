// How the process of a core ended, where it did.
#pragma once

#include <string>

#include "mixstack/dump.h"
#include "output/report/style.h"
#include "output/report/writer.h"

namespace mixstack::report {

/// "The process ended by SIGABRT: unhandled exception Shop.Broken: no stock, in thread 12 "main" at Shop.Run() in
/// Shop.cs:7". Empty: it did not end, as far as the core tells.
[[nodiscard]] std::string end_words(const ProcessDump& dump);
/// That as a line; nothing if there is none.
void write_end(Painter& out, const ProcessDump& dump);
/// null if there is none.
void write_end_json(Writer& out, const ProcessDump& dump);

}  // namespace mixstack::report
