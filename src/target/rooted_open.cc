#include "target/rooted_open.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/regular_file.h"

namespace mixstack::target {
namespace {

[[nodiscard]] base::ScopedFd open_at(int root_fd, const std::string& relative, int flags) {
  // RESOLVE_IN_ROOT keeps absolute links and ".." inside that root: without it a link in the target's container would
  // be followed into our own file system.
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return base::ScopedFd(static_cast<int>(::syscall(SYS_openat2, root_fd, relative.c_str(), &how, sizeof how)));
}

}  // namespace

Result<base::ScopedFd> open_below(int root_fd, const std::string& path) {
  if (path.empty() || path.front() != '/') return fail(ErrorCode::invalid_argument);
  const auto first = path.find_first_not_of('/');
  const std::string relative = first == std::string::npos ? "." : path.substr(first);
  const base::ScopedFd place = open_at(root_fd, relative, O_PATH | O_CLOEXEC);
  if (!place) return fail(base::open_failure(errno));
  return base::reopen_regular(place.get(), [&] { return open_at(root_fd, relative, base::kReadFlags); });
}

}  // namespace mixstack::target
