#include "process/kernel/rooted_open.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/system/regular_file.h"

namespace mixstack::process {
namespace {

[[nodiscard]] base::ScopedFd open_at(int root_fd, const std::string& relative, int flags) {
  // RESOLVE_IN_ROOT keeps absolute links and ".." inside that root: without it a link in the target's container would
  // be followed into our own file system.
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return base::ScopedFd(static_cast<int>(::syscall(SYS_openat2, root_fd, relative.c_str(), &how, sizeof how)));
}

[[nodiscard]] std::string relative_of(const std::string& path) {
  const auto first = path.find_first_not_of('/');
  return first == std::string::npos ? "." : path.substr(first);
}

}  // namespace

Result<base::ScopedFd> open_folder_below(int root_fd, const std::string& path) {
  if (path.empty() || path.front() != '/') return fail(ErrorCode::invalid_argument);
  base::ScopedFd place = open_at(root_fd, relative_of(path), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (!place) return fail(base::open_failure(errno));
  return place;
}

Result<base::ScopedFd> open_below(int root_fd, const std::string& path) {
  if (path.empty() || path.front() != '/') return fail(ErrorCode::invalid_argument);
  const std::string relative = relative_of(path);
  const base::ScopedFd place = open_at(root_fd, relative, O_PATH | O_CLOEXEC);
  if (!place) return fail(base::open_failure(errno));
  return base::reopen_regular(place.get(), [&] { return open_at(root_fd, relative, base::kReadFlags); });
}

}  // namespace mixstack::process
