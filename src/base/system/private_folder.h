// A folder that only our user can change.
#pragma once

#include <string>

#include "base/system/scoped_fd.h"
#include "mixstack/diagnosis.h"

namespace mixstack::base {

/// Opens a folder that our user owns and nobody else can write to, nor replace any component of its path: so root does
/// not trust what others prepared. With `makes`, the folder and its parents are made, mode 0700. Errors: io_error with
/// the errno (ENOENT: it does not exist, and was not to be made); permission_denied: it is not ours, "not used as a
/// `what`: ...".
[[nodiscard]] tl::expected<ScopedFd, Diagnosis> open_private_folder(const std::string& path, bool makes,
                                                                    const std::string& what);

}  // namespace mixstack::base
