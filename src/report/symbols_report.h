// Which modules have symbols, as text and as JSON.
#pragma once

#include <span>
#include <string>

#include "mixstack/dump.h"
#include "mixstack/symbol_files.h"

namespace mixstack::report {

/// Modules with the most nameless frames first.
[[nodiscard]] std::string symbols_text(const ProcessDump& dump, std::span<const ModuleSymbols> modules);
[[nodiscard]] std::string symbols_json(const ProcessDump& dump, std::span<const ModuleSymbols> modules);

}  // namespace mixstack::report
