// Opens a core: a plain file, compressed, from a pipe, or inside a pack.
#pragma once

#include "mixstack/session.h"
#include "process/core/core_format.h"

namespace mixstack::session {

/// `fetch` is asked, last, for files that are missing; may be null. Errors: those of Session::open_core.
[[nodiscard]] Result<process::OpenedCore> open_core_target(const CoreOptions& options, process::FileFetcher fetch);

}  // namespace mixstack::session
