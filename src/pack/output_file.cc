#include "pack/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace mixstack::pack {
namespace {

constexpr int kTries = 16;

[[nodiscard]] tl::unexpected<Error> failure(int error) {
  if (error == EEXIST) return fail(ErrorCode::invalid_argument, 0, error);
  if (error == EACCES || error == EPERM || error == EROFS) return fail(ErrorCode::permission_denied, 0, error);
  return fail(ErrorCode::io_error, 0, error);
}

[[nodiscard]] std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// 0 when the name is free or may be taken.
[[nodiscard]] int taken(const std::string& path, bool replace) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0) return errno == ENOENT ? 0 : errno;
  return replace && S_ISREG(st.st_mode) ? 0 : EEXIST;
}

}  // namespace

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      replace_(other.replace_),
      fd_(std::move(other.fd_)) {}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<OutputFile> OutputFile::create(const std::string& path, bool replace) {
  if (const int error = taken(path, replace); error != 0) return failure(error);
  OutputFile file;
  file.path_ = path;
  file.replace_ = replace;
  file.fd_ = base::ScopedFd(::open(folder_of(path).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.fd_) return file;
  // What file systems and kernels without O_TMPFILE answer, open(2).
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) return failure(errno);
  std::string name = path + ".XXXXXX";
  file.fd_ = base::ScopedFd(::mkostemp(name.data(), O_CLOEXEC));
  if (!file.fd_) return failure(errno);
  file.temporary_ = std::move(name);
  return file;
}

int OutputFile::link_to(const std::string& name) const {
  const std::string self = "/proc/self/fd/" + std::to_string(fd_.get());
  return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

Result<void> OutputFile::publish_unnamed() const {
  int error = link_to(path_);
  if (error != EEXIST || !replace_) return error == 0 ? Result<void>() : failure(error);
  // A name of its own first: rename(2) replaces, linkat(2) does not.
  for (int i = 0; i < kTries; i++) {
    const std::string name = path_ + "." + std::to_string(::getpid()) + "-" + std::to_string(i);
    error = link_to(name);
    if (error == EEXIST) continue;
    if (error != 0) break;
    if (::rename(name.c_str(), path_.c_str()) == 0) return {};
    error = errno;
    ::unlink(name.c_str());
    break;
  }
  return failure(error);
}

Result<void> OutputFile::publish() {
  if (const int error = taken(path_, replace_); error != 0) return failure(error);
  if (::fsync(fd_.get()) != 0 && errno != EINVAL) return failure(errno);
  if (temporary_.empty()) return publish_unnamed();
  const unsigned flags = replace_ ? 0 : RENAME_NOREPLACE;
  int error = ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), flags) == 0 ? 0 : errno;
  // A file system that cannot promise it: what was free a moment ago is taken to be.
  if (error == EINVAL) error = ::rename(temporary_.c_str(), path_.c_str()) == 0 ? 0 : errno;
  if (error != 0) return failure(error);
  temporary_.clear();
  return {};
}

}  // namespace mixstack::pack
