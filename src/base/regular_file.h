// Opening a file whose path somebody else chose.
#pragma once

#include <fcntl.h>

#include <functional>
#include <string>

#include "base/scoped_fd.h"
#include "mixstack/result.h"

namespace mixstack::base {

/// How an errno of open() is told: not_found, permission_denied, no_such_process or io_error.
[[nodiscard]] Error open_failure(int error);

/// How a file is opened that somebody else may exchange for a FIFO or a terminal at any moment.
inline constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

/// Opens for reading what an O_PATH descriptor stands for, if that is a regular file; anything else is `unsupported`
/// and is not opened at all. Opening is an act: it starts a watchdog, rewinds a tape, lets a FIFO's writer go on. The
/// descriptor given may be closed afterwards. Where /proc is not mounted, `by_path` opens it a second time (with
/// kReadFlags), and that must then be the file that was looked at.
[[nodiscard]] Result<ScopedFd> reopen_regular(int path_fd, const std::function<ScopedFd()>& by_path = {});

/// The same by path, links followed.
[[nodiscard]] Result<ScopedFd> open_regular(const std::string& path);

}  // namespace mixstack::base
