// Where a command looks for symbols: by its options and the environment.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/program.h"
#include "mixstack/symbol_files.h"

namespace mixstack::cli {

/// --symbol-path or MIXSTACK_SYMBOL_PATH, DEBUGINFOD_URLS, the cache of our user (XDG_CACHE_HOME) and the proxies. The
/// environment counts for nothing where we have more rights than who started us (secure_getenv).
[[nodiscard]] SymbolOptions symbol_options(const DumpArguments& arguments);

/// "https_proxy=..." and its like, of our environment: for mixstack-fetch.
[[nodiscard]] std::vector<std::string> proxies_of_environment();
/// $XDG_CACHE_HOME/mixstack/NAME or ~/.cache/mixstack/NAME; empty: neither is an absolute path.
[[nodiscard]] std::string user_cache_folder(const std::string& name);

/// Says on standard error which folders of the symbol path are none: a folder that was mistyped has no symbols, and
/// would be nothing but silent.
void warn_of_missing_folders(const SymbolOptions& options, const Environment& environment);

}  // namespace mixstack::cli
