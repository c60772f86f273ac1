// A pack as a core and the files that come with it.
#pragma once

#include <memory>
#include <optional>

#include "mixstack/result.h"
#include "process/core/core_bytes.h"
#include "process/core/core_format.h"
#include "process/core/file_finder.h"

namespace mixstack::pack {

struct OpenPack {
  std::shared_ptr<const process::CoreBytes> core;
  process::PackedFiles files;
};

/// Whether these bytes begin as a pack does, whatever the file is called: a tar archive whose first member lies in the
/// folder of packs, also when other tools made it again.
[[nodiscard]] bool is_pack(const process::CoreBytes& bytes);

/// Finds the parts of a pack. Nothing is extracted: the core and the files are read where they lie, which is the file
/// itself or the temporary file without a name that a compressed one was unpacked to. A pack that was cut
/// off says so as its core's diagnosis. Errors: those of base/words/pack_fault.h, `io_error`, `truncated`: cut off
/// before a core began.
[[nodiscard]] Result<OpenPack> open_pack(std::shared_ptr<const process::CoreBytes> bytes);

/// Packs, opened as their core: its missing files come from the pack first. Errors: those of open_pack, and of the
/// core.
[[nodiscard]] process::CoreFormat pack_format();

}  // namespace mixstack::pack
