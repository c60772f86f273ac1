// Opening a file whose path somebody else chose.
#pragma once

#include <fcntl.h>

#include <functional>
#include <string>

#include "base/system/scoped_fd.h"
#include "mixstack/result.h"

namespace mixstack::base {

/// The error for an errno of open(): not_found, permission_denied, no_such_process or io_error.
[[nodiscard]] Error open_failure(int error);

/// Flags to open a file that somebody else may replace by a FIFO or a terminal at any moment.
inline constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

/// Opens for reading the file behind an O_PATH descriptor, if it is a regular file; anything else is `unsupported` and
/// not opened at all. Opening has effects: it starts a watchdog, rewinds a tape, unblocks the writer of a FIFO. The
/// given descriptor may be closed afterwards. If /proc is not mounted, `by_path` opens the file a second time (with
/// kReadFlags), and it must be the same file.
[[nodiscard]] Result<ScopedFd> reopen_regular(int path_fd, const std::function<ScopedFd()>& by_path = {});

/// The same by path, links followed.
[[nodiscard]] Result<ScopedFd> open_regular(const std::string& path);

}  // namespace mixstack::base
