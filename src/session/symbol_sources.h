// Whom the parts of a session ask for files with symbols.
#pragma once

#include <memory>

#include "dotnet/runtime/managed_runtime.h"
#include "mixstack/symbol_files.h"
#include "object/debug_file.h"
#include "object/file_budget.h"
#include "symbol_files/symbol_finder.h"
#include "target/core/file_finder.h"

namespace mixstack::session {

using SharedFinder = std::shared_ptr<symbol_files::SymbolFinder>;

[[nodiscard]] SharedFinder make_symbol_finder(const SymbolOptions& options);

/// For symbol tables of images; what is read of the files counts in `budget`.
[[nodiscard]] object::DebugFetcher debug_fetcher(SharedFinder finder, std::shared_ptr<object::FileBudget> budget);
/// For lines of managed code.
[[nodiscard]] dotnet::names::PdbFetcher pdb_fetcher(SharedFinder finder);
/// For cores that lack what was in an image.
[[nodiscard]] target::FileFetcher executable_fetcher(SharedFinder finder);

}  // namespace mixstack::session
