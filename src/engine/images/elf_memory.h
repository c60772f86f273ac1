// A loaded ELF image, copied out of memory and laid out as in its file.
#pragma once

#include <vector>

#include "mixstack/memory_reader.h"

namespace mixstack::images {

/// Bytes as the file behind the image at `base` would hold them, as far as its segments are loaded and readable; the
/// rest is cut off or zero. Pointers of the dynamic section that the dynamic linker has relocated are made link-time
/// addresses again. At most `limit` bytes.
[[nodiscard]] Result<std::vector<std::byte>> copy_loaded_image(const MemoryReader& memory, Address base,
                                                               std::size_t limit);

}  // namespace mixstack::images
