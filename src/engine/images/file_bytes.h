// Files as bytes that cannot change or fault under us.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/system/scoped_fd.h"
#include "mixstack/target.h"

namespace mixstack::images {

/// Limits for one file.
struct FileLimits {
  std::uint64_t reserve = std::uint64_t{64} << 30;  ///< largest file accepted (address space only)
  std::uint64_t load = std::uint64_t{512} << 20;    ///< most bytes ever read from it
};

/// Opens a regular file (anything else is `unsupported`). Nothing is read before it is asked for.
///
/// Files are never mapped: a file that is truncated while mapped kills the reader with SIGBUS, and one that is
/// rewritten changes under a parser that has already checked it. Files of a target are its own to change. So a range of
/// address space as large as the file is reserved, and pieces are read into it with pread when first asked for; pieces
/// handed out never change. Thread-safe.
[[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_file_bytes(const std::string& path,
                                                                       const FileLimits& limits = {});
/// The same for a descriptor that is already open (a deleted file through map_files, a path below another root).
[[nodiscard]] Result<std::shared_ptr<const FileBytes>> file_bytes_from_fd(base::ScopedFd fd,
                                                                          const FileLimits& limits = {});
/// A file that lies inside another one, as members of an archive do; all of it must be there (else `truncated`).
[[nodiscard]] Result<std::shared_ptr<const FileBytes>> file_bytes_inside(base::ScopedFd fd, std::uint64_t offset,
                                                                         std::uint64_t size,
                                                                         const FileLimits& limits = {});
/// Bytes already in memory: decompressed images, images copied from a process, fixtures.
[[nodiscard]] std::shared_ptr<const FileBytes> buffer_file_bytes(std::vector<std::byte> bytes);

}  // namespace mixstack::images
