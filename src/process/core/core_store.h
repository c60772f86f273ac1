// Cores that systemd-coredump(8) has put away.
#pragma once

#include <chrono>
#include <string>

#include "base/system/scoped_fd.h"
#include "mixstack/diagnosis.h"
#include "process/core/core_bytes.h"

namespace mixstack::process {

struct CoreStoreOptions {
  std::string search_path;  ///< the PATH in which coredumpctl is looked for
  std::string folder = "/var/lib/systemd/coredump";
  std::chrono::milliseconds timeout{10'000};  ///< for coredumpctl's answer, and for each part of a core
  CoreBytesOptions bytes;                     ///< for a core that has to be copied out of the journal
};

struct StoredCore {
  std::string path;     ///< for CoreBytes::open, usually compressed
  base::ScopedFd held;  ///< a core out of the journal has no file of its own: `path` is valid while this is open
};

/// The newest core of a process by number, by name (as in /proc/PID/comm, 15 characters count), or by the absolute path
/// of its program. coredumpctl(1) is asked where it is installed; where it is not, or knows nothing, the names of the
/// files in systemd's folder are read. The diagnosis says what to do. Blocking; not for a walk.
[[nodiscard]] tl::expected<StoredCore, Diagnosis> find_stored_core(const std::string& pid_or_name,
                                                                   const CoreStoreOptions& options);

/// A name as systemd-coredump writes it into its files' names: `./ \`, control characters and what is not ASCII as
/// \xNN (systemd, src/coredump/coredump-submit.c, make_filename; src/basic/escape.c, xescape).
[[nodiscard]] std::string escape_stored_name(const std::string& name);

}  // namespace mixstack::process
