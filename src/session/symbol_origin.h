// The packages and servers that usually have missing symbols.
#pragma once

#include <string>
#include <vector>

#include "engine/images/debug_file.h"
#include "mixstack/dump.h"
#include "mixstack/symbol_files.h"

namespace mixstack::session {

/// Fills in package, version and server for modules without symbols: the runtime package for files of .NET and
/// ASP.NET, the NuGet package for files below .nuget/packages, the target's Debian package for others. `open` opens the
/// target's files. Fields that are not known stay empty.
void find_origins(std::vector<ModuleSymbols>& modules, const ProcessDump& dump, const images::PathOpener& open);

}  // namespace mixstack::session
