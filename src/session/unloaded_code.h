// Images that are loaded and unloaded while mixstack looks: a frame may be in one that the list of modules does not
// know.
#pragma once

#include <span>
#include <vector>

#include "mixstack/dump.h"
#include "mixstack/target.h"

namespace mixstack::session {

/// Code of files as loaders map it; code generators map shared memory.
[[nodiscard]] std::vector<Region> image_mappings(std::span<const Region> regions);
/// Whether both are the same parts of the same files at the same addresses.
[[nodiscard]] bool are_same_mappings(std::span<const Region> a, std::span<const Region> b);

/// For a thread that was captured later than the others: `known` are the image mappings of the instant that the list of
/// modules is of, `captured` those of its own. A frame in code that differs, and all that were found through it,
/// become `inferred`.
void doubt_code_of_another_time(ThreadDump& thread, std::span<const Region> known, std::span<const Region> captured);

/// After all has been read: an image whose file cannot be opened was read from the process, and may have been replaced
/// by another since the stop that `captured` (all mappings) is of. Frames in such code become `inferred`.
void doubt_replaced_code(ProcessDump& dump, const Target& target, std::span<const Region> captured);

}  // namespace mixstack::session
