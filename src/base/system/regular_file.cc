#include "base/system/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace mixstack::base {
namespace {

Result<ScopedFd> same_file(ScopedFd fd, int path_fd) {
  if (!fd) return fail(open_failure(errno));
  struct stat seen {
  }, opened{};
  if (::fstat(path_fd, &seen) != 0 || ::fstat(fd.get(), &opened) != 0) return fail(ErrorCode::io_error, 0, errno);
  if (seen.st_dev != opened.st_dev || seen.st_ino != opened.st_ino) return fail(ErrorCode::mismatch, opened.st_ino);
  return fd;
}

}  // namespace

Error open_failure(int error) {
  if (error == ENOENT || error == ENOTDIR || error == ELOOP) return {ErrorCode::not_found, error, 0};
  if (error == EACCES || error == EPERM) return {ErrorCode::permission_denied, error, 0};
  if (error == ESRCH) return {ErrorCode::no_such_process, error, 0};
  return {ErrorCode::io_error, error, 0};
}

Result<ScopedFd> reopen_regular(int path_fd, const std::function<ScopedFd()>& by_path) {
  struct stat st {};
  if (::fstat(path_fd, &st) != 0) return fail(ErrorCode::io_error, 0, errno);
  if (!S_ISREG(st.st_mode)) return fail(ErrorCode::unsupported);
  ScopedFd fd(::open(("/proc/self/fd/" + std::to_string(path_fd)).c_str(), kReadFlags));
  if (fd) return fd;
  if (errno == ENOENT && by_path) return same_file(by_path(), path_fd);
  return fail(open_failure(errno));
}

Result<ScopedFd> open_regular(const std::string& path) {
  const ScopedFd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!place) return fail(open_failure(errno));
  return reopen_regular(place.get(), [&] { return ScopedFd(::open(path.c_str(), kReadFlags)); });
}

}  // namespace mixstack::base
