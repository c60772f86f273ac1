// Places where a command searches symbols, from its options and the environment.
#pragma once

#include <string>
#include <vector>

#include "frontends/cli/arguments.h"
#include "frontends/cli/program.h"
#include "mixstack/symbol_files.h"

namespace mixstack::cli {

/// --symbol-path or MIXSTACK_SYMBOL_PATH, DEBUGINFOD_URLS, the cache of our user (XDG_CACHE_HOME) and the proxies. The
/// environment is ignored if we have more privileges than our caller (secure_getenv).
[[nodiscard]] SymbolOptions symbol_options(const DumpArguments& arguments);

/// The proxy variables of our environment ("https_proxy=..."), for mixstack-fetch.
[[nodiscard]] std::vector<std::string> proxies_of_environment();
/// $XDG_CACHE_HOME/mixstack/NAME or ~/.cache/mixstack/NAME; empty: neither is an absolute path.
[[nodiscard]] std::string user_cache_folder(const std::string& name);

/// Warns on standard error of folders of the symbol path that cannot be opened: a mistyped one would silently have no
/// symbols.
void warn_of_missing_folders(const SymbolOptions& options, const Environment& environment);

}  // namespace mixstack::cli
