// The files of a process, as it sees them.
#pragma once

#include <memory>
#include <string>

#include "mixstack/result.h"
#include "mixstack/target.h"
#include "process/live/proc_dir.h"

namespace mixstack::process {

/// The very file behind a mapping: through /proc/PID/map_files, which needs no path and works for deleted files and
/// memfds (but needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE), else by path below /proc/PID/root (below our own root,
/// where the process has ended), accepted only if device and inode are those of the mapping.
///
/// Errors: not_found (anonymous, or the path is gone), mismatch (another file lies at the path now; value is its
/// inode), unsupported (no regular file), permission_denied, no_such_process.
[[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_mapped_file(const ProcDir& proc, const Region& region);

/// A file by path as the process sees it: its root, its mount namespace. Relative paths are `invalid_argument`.
/// Symbolic links are resolved inside that root, never outside.
[[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_target_path(const ProcDir& proc, const std::string& path);

}  // namespace mixstack::process
