// The NuGet package that holds a runtime's files.
#pragma once

#include <string>
#include <string_view>

#include "dotnet/code/runtime.h"

namespace mixstack::dotnet {

/// "microsoft.netcore.app.runtime.linux-x64 10.0.12": the NuGet package with all libraries of this runtime, by its
/// build id; for a build that is in no list, by its version ("linux-x64 or linux-musl-x64"). Empty where that is not
/// known.
[[nodiscard]] std::string package_of(const RuntimeImage& runtime);

/// Whether a file of that path came with the runtime: it lies beside it and has a name of the framework's.
[[nodiscard]] bool comes_with(const RuntimeImage& runtime, std::string_view path);

}  // namespace mixstack::dotnet
