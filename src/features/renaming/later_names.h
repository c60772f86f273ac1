// Names for a raw recording, added later or on another machine.
#pragma once

#include <cstddef>
#include <vector>

#include "mixstack/diagnosis.h"
#include "mixstack/recording.h"
#include "mixstack/symbol_files.h"

namespace mixstack::renaming {

struct LaterNameOptions {
  SymbolOptions symbols;
  /// Also modules whose places all have names, for their lines. Else only those with a nameless place.
  bool every_module = false;
};

/// The result; plain data.
struct LaterNames {
  Recording recording;  ///< with the names; unchanged if there was nothing to name
  /// Modules looked for; `frames`: distinct places in them, `nameless`: those still without a name.
  std::vector<ModuleSymbols> modules;
  std::vector<Diagnosis> diagnoses;  ///< failures, with the remedy
};

/// Looks for the files of at most kMostModules modules: at their recorded paths on this machine, then by build id in
/// the symbol path. Takes the recording and always returns it. Starts child processes (NativeLines) and, with URLs in
/// the path, mixstack-fetch: call it in a program with one thread.
[[nodiscard]] LaterNames name_later(Recording recording, const LaterNameOptions& options);

inline constexpr std::size_t kMostModules = 1024;

}  // namespace mixstack::renaming
