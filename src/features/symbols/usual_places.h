// Places where symbols are searched, from the environment, and other things that the environment says. It is ignored
// where we have more privileges than our caller (secure_getenv).
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "mixstack/symbol_files.h"

namespace mixstack::symbol_answers {

/// MIXSTACK_SYMBOL_PATH, DEBUGINFOD_URLS, the cache of our user (XDG_CACHE_HOME) and the proxies.
[[nodiscard]] SymbolOptions symbol_options_of_environment();

/// For an answer at once: folders and the cache, no servers.
[[nodiscard]] SymbolOptions without_servers(SymbolOptions options);
/// For fetching within `time`; where no server is named, Microsoft's is asked.
[[nodiscard]] SymbolOptions with_servers(SymbolOptions options, std::chrono::milliseconds time);

/// The proxy variables of our environment ("https_proxy=..."), for mixstack-fetch.
[[nodiscard]] std::vector<std::string> proxies_of_environment();
/// $XDG_CACHE_HOME/mixstack/NAME or ~/.cache/mixstack/NAME; empty: neither is an absolute path.
[[nodiscard]] std::string user_cache_folder(const std::string& name);

/// Folders of the symbol path that cannot be opened, as "FOLDER: why": a mistyped one would silently have no symbols.
[[nodiscard]] std::vector<std::string> missing_folders(const SymbolOptions& options);

}  // namespace mixstack::symbol_answers
