// Opens a core: a plain file, compressed, from a pipe, or inside a pack.
#pragma once

#include <memory>

#include "mixstack/session.h"
#include "process/core/core_bytes.h"
#include "process/core/file_finder.h"

namespace mixstack::session {

struct OpenedCore {
  std::unique_ptr<Target> target;
  std::shared_ptr<const process::CoreBytes> bytes;  ///< of the core itself
};

/// `fetch` is asked, last, for files that are missing; may be null. Errors: those of Session::open_core.
[[nodiscard]] Result<OpenedCore> open_core_target(const CoreOptions& options, process::FileFetcher fetch);

}  // namespace mixstack::session
