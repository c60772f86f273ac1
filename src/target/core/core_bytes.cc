#include "target/core/core_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <limits>

namespace mixstack::target {
namespace {

Result<base::ScopedFd> open_input(const std::string& path) {
  base::ScopedFd fd(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (fd) return fd;
  const int error = errno;
  if (error == ENOENT || error == ENOTDIR) return fail(ErrorCode::not_found, 0, error);
  if (error == EACCES || error == EPERM) return fail(ErrorCode::permission_denied, 0, error);
  return fail(ErrorCode::io_error, 0, error);
}

}  // namespace

const char* name_of(CoreEncoding encoding) {
  switch (encoding) {
    case CoreEncoding::plain:
      return "plain";
    case CoreEncoding::zstd:
      return "zstd";
    case CoreEncoding::gzip:
      return "gzip";
    case CoreEncoding::lz4:
      return "lz4";
    case CoreEncoding::xz:
      return "xz";
  }
  return "unknown";
}

CoreBytes::CoreBytes(base::ScopedFd fd, std::string path, std::uint64_t size)
    : fd_(std::move(fd)), path_(std::move(path)), size_(size) {}

Result<std::unique_ptr<CoreBytes>> CoreBytes::open(const std::string& path) { return open(path, {}); }

Result<std::unique_ptr<CoreBytes>> CoreBytes::open(const std::string& path, const CoreBytesOptions& options) {
  auto fd = open_input(path);
  if (!fd) return fail(fd.error());
  return from_fd(std::move(*fd), path, options);
}

Result<std::unique_ptr<CoreBytes>> CoreBytes::from_fd(base::ScopedFd fd, std::string path,
                                                      const CoreBytesOptions& /*options*/) {
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return fail(ErrorCode::io_error, 0, errno);
  if (!S_ISREG(st.st_mode)) return fail(ErrorCode::unsupported, st.st_mode);
  return std::unique_ptr<CoreBytes>(
      new CoreBytes(std::move(fd), std::move(path), static_cast<std::uint64_t>(st.st_size)));
}

Result<std::size_t> CoreBytes::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset >= size_) return 0;
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - offset));
  std::size_t done = 0;
  while (done < wanted) {
    const auto n = ::pread(fd_.get(), out.data() + done, wanted - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(ErrorCode::io_error, offset + done, errno);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

}  // namespace mixstack::target
