// A folder that is ours alone.
#pragma once

#include <string>

#include "base/scoped_fd.h"
#include "mixstack/diagnosis.h"

namespace mixstack::base {

/// Opens a folder that belongs to our user and that nobody else can write to, nor exchange a part of the way to it: so
/// root does not believe what others have prepared. With `makes` it is made, mode 0700, with the folders above it.
/// Errors: io_error with the errno (ENOENT: it is not there, and was not to be made); permission_denied: it is not
/// ours, "not used as a `what`: ...".
[[nodiscard]] tl::expected<ScopedFd, Diagnosis> open_private_folder(const std::string& path, bool makes,
                                                                    const std::string& what);

}  // namespace mixstack::base
