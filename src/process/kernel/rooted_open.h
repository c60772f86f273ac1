// Opening files below a folder that stands for a file system's root.
#pragma once

#include <string>

#include "base/system/scoped_fd.h"
#include "mixstack/result.h"

namespace mixstack::process {

/// Opens an absolute path for reading as a process with `root_fd` as its root would: absolute links and ".." stay
/// inside. Regular files only: nothing else is opened (`base/system/regular_file.h`). Errors: invalid_argument (not
/// absolute), unsupported (no regular file), not_found, permission_denied, no_such_process, io_error.
[[nodiscard]] Result<base::ScopedFd> open_below(int root_fd, const std::string& path);
/// The same for a folder (O_PATH), below which files are then opened by name.
[[nodiscard]] Result<base::ScopedFd> open_folder_below(int root_fd, const std::string& path);

}  // namespace mixstack::process
