// Copies a recording and names the places of native code that had no name.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "mixstack/recording.h"
#include "mixstack/result.h"
#include "mixstack/symbol.h"

namespace mixstack::renaming {

/// The functions at a link-time address of a module, innermost first, the last one the function that has the code.
/// Empty or nameless: nothing new is known.
using PlaceNamer = std::function<std::vector<SymbolInfo>(std::uint32_t module, std::uint64_t address)>;

/// By frame number: whether to look for a name. True for native code of a module with a build id, without a line and
/// without inlined functions.
[[nodiscard]] std::vector<bool> unnamed_frames(const Recording& recording);

/// Asks once for each place of `unnamed_frames`. Stacks grow by the functions inlined into their frames. Errors:
/// limit_exceeded (no room for the inlined functions of so many stacks).
[[nodiscard]] Result<Recording> renamed(const Recording& recording, const PlaceNamer& namer);

}  // namespace mixstack::renaming
