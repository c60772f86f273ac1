#include "target/rooted_open.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace mixstack::target {
namespace {

// A FIFO or a device at a path of the target must not hold us up before it is refused.
constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

[[nodiscard]] Error open_failure(int error) {
  if (error == ENOENT || error == ENOTDIR || error == ELOOP) return {ErrorCode::not_found, error, 0};
  if (error == EACCES || error == EPERM) return {ErrorCode::permission_denied, error, 0};
  if (error == ESRCH) return {ErrorCode::no_such_process, error, 0};
  return {ErrorCode::io_error, error, 0};
}

}  // namespace

Result<base::ScopedFd> open_below(int root_fd, const std::string& path) {
  if (path.empty() || path.front() != '/') return fail(ErrorCode::invalid_argument);
  const auto first = path.find_first_not_of('/');
  const std::string relative = first == std::string::npos ? "." : path.substr(first);
  // RESOLVE_IN_ROOT keeps absolute links and ".." inside that root: without it a link in the target's container would
  // be followed into our own file system.
  open_how how{};
  how.flags = kReadFlags;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const long fd = ::syscall(SYS_openat2, root_fd, relative.c_str(), &how, sizeof how);
  if (fd < 0) return fail(open_failure(errno));
  return base::ScopedFd(static_cast<int>(fd));
}

}  // namespace mixstack::target
