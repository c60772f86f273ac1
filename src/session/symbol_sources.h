// The sources of files with symbols that the parts of a session ask.
#pragma once

#include <memory>

#include "dotnet/names/runtime_modules.h"
#include "dotnet/runtime/managed_runtime.h"
#include "engine/images/debug_file.h"
#include "engine/images/file_budget.h"
#include "engine/symbol_files/symbol_finder.h"
#include "mixstack/symbol_files.h"
#include "process/core/file_finder.h"

namespace mixstack::session {

using SharedFinder = std::shared_ptr<symbol_files::SymbolFinder>;

[[nodiscard]] SharedFinder make_symbol_finder(const SymbolOptions& options);

/// For symbol tables of images; bytes read count in `budget`.
[[nodiscard]] images::DebugFetcher debug_fetcher(SharedFinder finder, std::shared_ptr<images::FileBudget> budget);
/// For lines of managed code.
[[nodiscard]] dotnet::names::PdbFetcher pdb_fetcher(SharedFinder finder);
/// For cores that do not hold an image's contents.
[[nodiscard]] process::FileFetcher executable_fetcher(SharedFinder finder);

}  // namespace mixstack::session
