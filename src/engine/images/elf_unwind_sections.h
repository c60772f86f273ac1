// Where an image keeps its call frame information.
#pragma once

#include "engine/images/elf_image.h"

namespace mixstack::images {

/// By section headers where they exist, else through PT_GNU_EH_FRAME (ElfImage::unwind_sections).
[[nodiscard]] UnwindSections find_unwind_sections(const ElfImage& image);
/// The bytes at `address` that form a sound run of CIEs and FDEs, terminator included: how long .eh_frame is when only
/// its start is known.
[[nodiscard]] std::span<const std::byte> measure_eh_frame(const ElfImage& image, std::uint64_t address);

}  // namespace mixstack::images
