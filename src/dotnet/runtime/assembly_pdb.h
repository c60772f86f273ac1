// The PDB of an assembly that is only a file, of which no code has run yet.
#pragma once

#include <optional>

#include "dotnet/names/pdb_finder.h"

namespace mixstack::dotnet {

/// Looks for it as for the others (`names::find_pdb`). Nothing where the file is no assembly.
[[nodiscard]] std::optional<names::PdbLookup> look_for_pdb(const std::string& path, const names::FileOpener& opener,
                                                           const names::PdbFetcher& fetch);

}  // namespace mixstack::dotnet
