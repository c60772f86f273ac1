// Places where a command searches symbols, from its options and the environment.
#pragma once

#include "frontends/cli/arguments.h"
#include "frontends/cli/program.h"
#include "mixstack/symbol_files.h"

namespace mixstack::cli {

/// --symbol-path, else the environment (features/symbols/usual_places.h).
[[nodiscard]] SymbolOptions symbol_options(const DumpArguments& arguments);

/// Warns on standard error of folders of the symbol path that cannot be opened: a mistyped one would silently have no
/// symbols.
void warn_of_missing_folders(const SymbolOptions& options, const Environment& environment);

}  // namespace mixstack::cli
