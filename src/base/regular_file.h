// Opening a file whose path somebody else chose.
#pragma once

#include <string>

#include "base/scoped_fd.h"
#include "mixstack/result.h"

namespace mixstack::base {

/// How an errno of open() is told: not_found, permission_denied, no_such_process or io_error.
[[nodiscard]] Error open_failure(int error);

/// Opens for reading what an O_PATH descriptor stands for, if that is a regular file; anything else is `unsupported`
/// and is not opened at all. Opening is an act: it starts a watchdog, rewinds a tape, lets a FIFO's writer go on, runs
/// an automounter. `io_error` with ENOENT where /proc is not mounted. The descriptor given may be closed afterwards.
[[nodiscard]] Result<ScopedFd> reopen_regular(int path_fd);

/// The same by path, links followed. Where /proc is not mounted, the path is opened a second time and must then be the
/// file that was looked at.
[[nodiscard]] Result<ScopedFd> open_regular(const std::string& path);

}  // namespace mixstack::base
