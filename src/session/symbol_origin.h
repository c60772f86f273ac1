// The packages and servers that usually have missing symbols.
#pragma once

#include <string>
#include <vector>

#include "engine/images/debug_file.h"
#include "mixstack/dump.h"
#include "mixstack/symbol_files.h"

namespace mixstack::session {

/// Fills in package, version and server of those that are missing: of the runtime's and ASP.NET's own files the package
/// that they were released in, of files below .nuget/packages theirs, of others that of the target's Debian. `open`
/// opens the target's files. Unknown members stay empty.
void find_origins(std::vector<ModuleSymbols>& modules, const ProcessDump& dump, const images::PathOpener& open);

}  // namespace mixstack::session
