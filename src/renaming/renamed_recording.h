// A recording once more, in which places of native code have the names they should have had.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "mixstack/result.h"
#include "mixstack/symbol.h"
#include "model/recording.h"

namespace mixstack::renaming {

/// The functions that the code at a link-time address of a module is, innermost first, the last one its own. Empty, or
/// without any name: nothing more is known than was recorded.
using PlaceNamer = std::function<std::vector<SymbolInfo>(std::uint32_t module, std::uint64_t address)>;

/// By number of a recording's frames: whether a name can be looked for. That is native code of a module with a build id
/// of which no line is known, nor what was inlined there.
[[nodiscard]] std::vector<bool> unnamed_frames(const Recording& recording);

/// Asks once for each place of `unnamed_frames`. Stacks grow by the functions inlined into their frames. Errors:
/// limit_exceeded (so many stacks that there is no room for what is inlined).
[[nodiscard]] Result<Recording> renamed(const Recording& recording, const PlaceNamer& namer);

}  // namespace mixstack::renaming
