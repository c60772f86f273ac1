#include "output/files/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace mixstack::files {
namespace {

constexpr int kTries = 16;
constexpr unsigned kMostNumbers = 1000;

[[nodiscard]] tl::unexpected<Error> failure(int error) {
  if (error == EEXIST) return fail(ErrorCode::invalid_argument, 0, error);
  if (error == EACCES || error == EPERM || error == EROFS) return fail(ErrorCode::permission_denied, 0, error);
  return fail(ErrorCode::io_error, 0, error);
}

[[nodiscard]] std::string temporary_name(const std::string& name, int i) {
  return name + "." + std::to_string(::getpid()) + "-" + std::to_string(i);
}

[[nodiscard]] mode_t usual_mode() {
  const mode_t mask = ::umask(0);
  (void)::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

OutputFile::OutputFile(OutputFile&& other) noexcept
    : folder_path_(std::move(other.folder_path_)),
      folder_(std::move(other.folder_)),
      name_(std::move(other.name_)),
      temporary_(std::exchange(other.temporary_, {})),
      suffix_(std::move(other.suffix_)),
      replace_(other.replace_),
      may_be_numbered_(other.may_be_numbered_),
      as_usual_(other.as_usual_),
      fd_(std::move(other.fd_)) {}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlinkat(folder_.get(), temporary_.c_str(), 0);
}

Result<OutputFile> OutputFile::create(const std::string& path, bool replace) {
  OutputFile file;
  file.replace_ = replace;
  if (const auto opened = file.open(path); !opened) return fail(opened.error());
  return file;
}

Result<OutputFile> OutputFile::create_free(const std::string& path, const std::string& suffix) {
  OutputFile file;
  file.may_be_numbered_ = true;
  if (path.ends_with(suffix)) file.suffix_ = suffix;
  if (const auto opened = file.open(path); !opened) return fail(opened.error());
  return file;
}

Result<void> OutputFile::open(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash != std::string::npos) folder_path_ = path.substr(0, slash + 1);
  name_ = path.substr(folder_path_.size());
  if (name_.empty()) return failure(path.empty() ? ENOENT : EISDIR);
  folder_ = base::ScopedFd(::open(folder_path_.empty() ? "." : folder_path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder_) return failure(errno);
  if (const int error = taken(name_); error != 0 && !(error == EEXIST && may_be_numbered_)) return failure(error);
  fd_ = base::ScopedFd(::openat(folder_.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (fd_) return {};
  // Errors of file systems and kernels without O_TMPFILE, open(2).
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) return failure(errno);
  const int error = open_named();
  return error == 0 ? Result<void>() : failure(error);
}

int OutputFile::open_named() {
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  int error = EEXIST;
  for (int i = 0; i < kTries && error == EEXIST; i++) {
    std::string name = temporary_name(name_, i);
    fd_ = base::ScopedFd(::openat(folder_.get(), name.c_str(), kFlags, 0600));
    error = fd_ ? 0 : errno;
    if (fd_) temporary_ = std::move(name);
  }
  return error;
}

/// 0 when the name is free or may be taken.
int OutputFile::taken(const std::string& name) const {
  struct stat st {};
  if (::fstatat(folder_.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT ? 0 : errno;
  return replace_ && S_ISREG(st.st_mode) ? 0 : EEXIST;
}

std::string OutputFile::numbered(unsigned number) const {
  if (number == 1) return name_;
  std::string name = name_;
  return name.insert(name.size() - suffix_.size(), "-" + std::to_string(number));
}

int OutputFile::link_to(const std::string& name) const {
  const std::string self = "/proc/self/fd/" + std::to_string(fd_.get());
  return ::linkat(AT_FDCWD, self.c_str(), folder_.get(), name.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

/// A user who could not read the replaced file cannot read the new one.
void OutputFile::set_mode(const std::string& name) const {
  if (!as_usual_) return;
  mode_t mode = usual_mode();
  struct stat old {
  }, own{};
  if (::fstatat(folder_.get(), name.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(old.st_mode) &&
      ::fstat(fd_.get(), &own) == 0) {
    mode = old.st_uid == own.st_uid ? old.st_mode & 0777 : mode & old.st_mode;
    // If the old group cannot be kept, the new group may do only what others may.
    if (old.st_gid != own.st_gid && ::fchown(fd_.get(), static_cast<uid_t>(-1), old.st_gid) != 0)
      mode &= ~mode_t{070} | ((mode & 07) << 3);
  }
  (void)::fchmod(fd_.get(), mode);
}

int OutputFile::publish_unnamed(const std::string& name) const {
  int error = link_to(name);
  if (error != EEXIST || !replace_) return error;
  // linkat(2) does not replace: link a temporary name first, then rename(2) it.
  set_mode(name);
  for (int i = 0; i < kTries; i++) {
    const std::string other = temporary_name(name, i);
    error = link_to(other);
    if (error == EEXIST) continue;
    if (error != 0) break;
    if (::renameat(folder_.get(), other.c_str(), folder_.get(), name.c_str()) == 0) return 0;
    error = errno;
    ::unlinkat(folder_.get(), other.c_str(), 0);
    break;
  }
  return error;
}

int OutputFile::publish_named(const std::string& name) {
  const int folder = folder_.get();
  const auto renamed = [&] { return ::renameat(folder, temporary_.c_str(), folder, name.c_str()) == 0 ? 0 : errno; };
  int error = 0;
  if (replace_) {
    error = renamed();
  } else if (::renameat2(folder, temporary_.c_str(), folder, name.c_str(), RENAME_NOREPLACE) != 0) {
    error = errno;
    // This file system cannot do so: take the name with an empty file first, which nobody else can then make.
    if (error == EINVAL || error == ENOSYS) {
      const base::ScopedFd made(
          ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
      error = made ? renamed() : errno;
      if (made && error != 0) ::unlinkat(folder, name.c_str(), 0);
    }
  }
  if (error == 0) temporary_.clear();
  return error;
}

int OutputFile::publish_as(const std::string& name) {
  if (const int error = taken(name); error != 0) return error;
  set_mode(name);
  return temporary_.empty() ? publish_unnamed(name) : publish_named(name);
}

Result<std::string> OutputFile::publish() {
  if (::fsync(fd_.get()) != 0 && errno != EINVAL) return failure(errno);
  for (unsigned number = 1;; number++) {
    const std::string name = numbered(number);
    const int error = publish_as(name);
    if (error == 0) return folder_path_ + name;
    if (error != EEXIST || !may_be_numbered_ || number == kMostNumbers) return failure(error);
  }
}

}  // namespace mixstack::files
