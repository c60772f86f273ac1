// Names that a recording lacks, for commands that show it.
#pragma once

#include <optional>
#include <string>

#include "cli/program.h"
#include "model/recording.h"

namespace mixstack::cli {

struct NamedRecording {
  Recording recording;
  bool has_failed = false;     ///< a server or file was refused, which was said
  bool said_nameless = false;  ///< with a symbol path: what stays without a name, by module
};

/// By the files of this machine and of the symbol path (null: that of the environment); servers are asked only with
/// such a path. With one, also lines are looked for, and what stays without a name is said, unless
/// `quiet`.
[[nodiscard]] NamedRecording with_names(Recording recording, const std::optional<std::string>& symbol_path, bool quiet,
                                        const Environment& environment);

}  // namespace mixstack::cli
