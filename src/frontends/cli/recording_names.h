// Adds missing names to a recording, for commands that show it.
#pragma once

#include <optional>
#include <string>

#include "frontends/cli/program.h"
#include "mixstack/recording.h"

namespace mixstack::cli {

struct NamedRecording {
  Recording recording;
  bool has_failed = false;     ///< a server or file failed; it was reported
  bool said_nameless = false;  ///< a symbol path was given, so code that stays nameless was reported by module
};

/// Uses the files of this machine and of the symbol path (null: the environment's). Only with a symbol path are servers
/// asked and lines searched; then it also reports code that stays nameless, unless `quiet`.
[[nodiscard]] NamedRecording with_names(Recording recording, const std::optional<std::string>& symbol_path, bool quiet,
                                        const Environment& environment);

}  // namespace mixstack::cli
