// Modules of a process, a core or a recording, and their symbols.
#pragma once

#include <string>
#include <vector>

#include "features/renaming/later_names.h"
#include "mixstack/session.h"
#include "mixstack/symbol_files.h"
#include "output/report/symbols_report.h"

namespace mixstack::symbol_answers {

struct SymbolsAnswer {
  report::SymbolsSubject subject;
  std::vector<ModuleSymbols> modules;

  /// A module of a stack has no symbols.
  [[nodiscard]] bool is_missing_any() const;
};

/// `all`: also modules that no stack runs through.
[[nodiscard]] SymbolsAnswer symbols_of(Session& session, const ProcessDump& dump, bool all);
/// The recording of the file `path`.
[[nodiscard]] SymbolsAnswer symbols_of(Recording recording, const std::string& path, const SymbolOptions& options);

/// Diagnoses of the search, one a line, below an empty line; empty: none.
[[nodiscard]] std::string diagnoses_text(const SymbolsAnswer& answer);

/// Places of a recording that have no name even after a search, and why: lines for the user.
[[nodiscard]] std::string nameless_text(const renaming::LaterNames& names);

}  // namespace mixstack::symbol_answers
