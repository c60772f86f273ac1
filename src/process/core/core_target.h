// A core file as a Target.
#pragma once

#include <memory>

#include "mixstack/target.h"
#include "process/core/core_bytes.h"
#include "process/core/core_format.h"
#include "process/core/file_finder.h"

namespace mixstack::process {

/// Opens a core of any CPU mixstack knows, written by the kernel, gdb or createdump. Only headers and notes are read;
/// memory is read when it is asked for.
///
/// Errors: those of CoreBytes::open and CoreFile::read. Whatever else is missing or wrong is in `diagnoses()`.
/// The target's methods may be called from any thread; `memory()` by any number at once.
[[nodiscard]] Result<std::unique_ptr<Target>> open_core(std::shared_ptr<const CoreBytes> bytes,
                                                        FileFinderOptions files);

/// Files that begin with the magic of ELF. `open` is open_core.
[[nodiscard]] CoreFormat elf_core_format();

}  // namespace mixstack::process
