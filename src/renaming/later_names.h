// Names for a raw recording, later or on another machine.
#pragma once

#include <cstddef>
#include <vector>

#include "mixstack/diagnosis.h"
#include "mixstack/symbol_files.h"
#include "model/recording.h"

namespace mixstack::renaming {

struct LaterNameOptions {
  SymbolOptions symbols;
  /// Modules, too, whose places all have names: for their lines. Else only those with a place that has none.
  bool every_module = false;
};

/// What was found out; plain data.
struct LaterNames {
  Recording recording;  ///< with the names; as it was, where there was nothing to name
  std::vector<ModuleSymbols>
      modules;                       ///< those looked for; `frames` are different places in them, `nameless` afterwards
  std::vector<Diagnosis> diagnoses;  ///< what went wrong, with what is to be done about it
};

/// Looks for the files of at most kMostModules modules: those that the recording has at their paths on this machine,
/// then by build id in the symbol path. Takes the recording, which comes back in any case. Starts children
/// (NativeLines) and, with URLs in the path, mixstack-fetch: for a program that has one thread.
[[nodiscard]] LaterNames name_later(Recording recording, const LaterNameOptions& options);

inline constexpr std::size_t kMostModules = 1024;

}  // namespace mixstack::renaming
