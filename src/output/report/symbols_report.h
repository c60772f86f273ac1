// Which modules have symbols, as text and as JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mixstack/dump.h"
#include "mixstack/symbol_files.h"

namespace mixstack::report {

/// The process, core or recording that the modules are of.
struct SymbolsSubject {
  std::uint32_t pid = 0;              ///< 0: of a recording of several processes
  std::string core;                   ///< its path; empty: none
  std::string recording;              ///< its path; empty: none
  std::string program;                ///< path of the program, or what the kernel calls it
  std::vector<std::string> runtimes;  ///< versions of .NET
  std::vector<Diagnosis> diagnoses;
};
[[nodiscard]] SymbolsSubject symbols_subject(const ProcessDump& dump);

/// Modules with the most nameless frames first.
[[nodiscard]] std::string symbols_text(const SymbolsSubject& subject, std::span<const ModuleSymbols> modules);
[[nodiscard]] std::string symbols_json(const SymbolsSubject& subject, std::span<const ModuleSymbols> modules);

}  // namespace mixstack::report
