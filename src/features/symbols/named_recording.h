// Adds missing names to a recording, for whoever shows it.
#pragma once

#include <optional>
#include <string>

#include "mixstack/recording.h"
#include "mixstack/symbol_files.h"

namespace mixstack::symbol_answers {

struct NamedRecording {
  Recording recording;
  bool has_failed = false;     ///< a server or file failed
  bool said_nameless = false;  ///< a symbol path was given, so `nameless` is about code that stays nameless, by module
  std::string failures{};      ///< of servers and files, lines for the user
  std::string nameless{};      ///< lines for the user
};

/// Uses the files of this machine and of the symbol path. Only with a symbol path are servers asked and lines searched.
[[nodiscard]] NamedRecording with_names(Recording recording, SymbolOptions options);

}  // namespace mixstack::symbol_answers
