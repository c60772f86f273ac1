#include "process/live/file_access.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/system/regular_file.h"
#include "engine/images/file_bytes.h"
#include "process/kernel/rooted_open.h"

namespace mixstack::process {
namespace {

[[nodiscard]] Result<base::ScopedFd> open_in_root(const ProcDir& proc, const std::string& path) {
  if (path.empty() || path.front() != '/') return fail(ErrorCode::invalid_argument);
  auto root = proc.open_memory_file("root", O_PATH | O_DIRECTORY);
  if (!root) return root;
  return open_below(root->get(), path);
}

/// The same for a mapped file, whose identity is checked later: a process that has ended has no root any more, and the
/// file lies at its path in ours, if anywhere.
[[nodiscard]] Result<base::ScopedFd> open_by_path(const ProcDir& proc, const std::string& path) {
  auto fd = open_in_root(proc, path);
  if (fd || proc.open_memory_file("root", O_PATH | O_DIRECTORY)) return fd;
  const base::ScopedFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root || path.empty() || path.front() != '/') return fd;
  return open_below(root.get(), path);
}

/// Device numbers of the mapping list and of stat differ by design on these: btrfs sub-volumes and overlays have
/// device numbers of their own, so there the inode alone must do.
[[nodiscard]] bool has_private_devices(int fd) {
  struct statfs fs {};
  if (::fstatfs(fd, &fs) != 0) return false;
  return fs.f_type == BTRFS_SUPER_MAGIC || fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

[[nodiscard]] Result<void> check_identity(int fd, const Region& region) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return fail(base::open_failure(errno));
  const bool same_device = major(st.st_dev) == region.device_major && minor(st.st_dev) == region.device_minor;
  if (st.st_ino == region.inode && (same_device || has_private_devices(fd))) return {};
  return fail(ErrorCode::mismatch, st.st_ino);
}

[[nodiscard]] std::string map_file_name(const Region& region) {
  char name[64];
  std::snprintf(name, sizeof name, "map_files/%llx-%llx", static_cast<unsigned long long>(region.range.begin),
                static_cast<unsigned long long>(region.range.end));
  return name;
}

}  // namespace

Result<std::shared_ptr<const FileBytes>> open_mapped_file(const ProcDir& proc, const Region& region) {
  if (region.inode == 0 || region.path.empty() || region.path.front() != '/') return fail(ErrorCode::not_found);
  // A mapping of a device: not even looked at.
  if (region.path.starts_with("/dev/") && !region.path.starts_with("/dev/shm/")) return fail(ErrorCode::unsupported);
  if (const auto place = proc.open_file(map_file_name(region), O_PATH)) {
    auto fd = base::reopen_regular(place->get());
    if (!fd) return fail(fd.error());
    // Another file may be mapped there by now: the list of mappings may be outdated.
    if (check_identity(fd->get(), region)) return images::file_bytes_from_fd(std::move(*fd));
  }
  auto fd = open_by_path(proc, region.path);
  if (!fd) return fail(fd.error());
  if (auto same = check_identity(fd->get(), region); !same) return fail(same.error());
  return images::file_bytes_from_fd(std::move(*fd));
}

Result<std::shared_ptr<const FileBytes>> open_target_path(const ProcDir& proc, const std::string& path) {
  auto fd = open_in_root(proc, path);
  if (!fd) return fail(fd.error());
  return images::file_bytes_from_fd(std::move(*fd));
}

}  // namespace mixstack::process
