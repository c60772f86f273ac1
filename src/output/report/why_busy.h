// Parts of `mixstack why` about what runs, and about what has not moved since the answer before.
#pragma once

#include <string>
#include <string_view>

#include "mixstack/busy.h"
#include "mixstack/dump.h"
#include "mixstack/unmoved.h"
#include "mixstack/verdict.h"
#include "output/report/json_fields.h"
#include "output/report/style.h"

namespace mixstack::report {

/// "program", "gc": stable, for programs.
[[nodiscard]] std::string_view busy_kind_name(BusyKind kind);
/// "methods of the program", "garbage collections".
[[nodiscard]] std::string_view busy_kind_words(BusyKind kind);
/// "BUSY: 1.9 processors, 92 % in methods of the program", or that it hardly runs.
[[nodiscard]] std::string busy_headline(const Busyness& busy);

void write_busy_text(Painter& out, const Busyness& busy);
void write_busy_json(Writer& out, const Busyness& busy);
void write_unmoved_text(Painter& out, const ProcessDump& dump, const Unmoved& unmoved);
void write_unmoved_json(Writer& out, const Unmoved& unmoved);

}  // namespace mixstack::report
