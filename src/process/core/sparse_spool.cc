#include "process/core/sparse_spool.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace mixstack::process {
namespace {

constexpr std::size_t kBlock = 4096;
constexpr std::size_t kBuffer = 64 * kBlock;
constexpr std::uint64_t kCheckEvery = 16 << 20;
constexpr std::uint64_t kFreePart = 20;  // one twentieth: 5 %

bool is_zero(std::span<const std::byte> block) {
  static constexpr std::array<std::byte, kBlock> kZeros{};
  return std::memcmp(block.data(), kZeros.data(), block.size()) == 0;
}

bool is_writable_folder(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode) && ::access(path.c_str(), W_OK | X_OK) == 0;
}

base::ScopedFd open_unnamed(const std::string& folder) {
  base::ScopedFd fd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  // Errors of file systems and kernels without O_TMPFILE, open(2).
  if (fd || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
  std::string name = folder + "/mixstack-core-XXXXXX";
  fd = base::ScopedFd(::mkostemp(name.data(), O_CLOEXEC));
  if (fd) ::unlink(name.c_str());
  return fd;
}

/// Writing beyond RLIMIT_FSIZE would send us SIGXFSZ.
std::uint64_t within_file_size_limit(std::uint64_t size) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return size;
  return std::min<std::uint64_t>(size, limit.rlim_cur);
}

}  // namespace

std::string temporary_folder(const std::string& given) {
  if (!given.empty()) return given;
  const char* asked = ::secure_getenv("TMPDIR");
  if (asked != nullptr && asked[0] == '/') return asked;
  return is_writable_folder("/var/tmp") ? "/var/tmp" : "/tmp";
}

SparseSpool::SparseSpool(base::ScopedFd fd, const SpoolLimits& limits)
    : fd_(std::move(fd)), limits_(limits), buffer_(kBuffer) {
  limits_.max_size = within_file_size_limit(limits.max_size);
}

Result<SparseSpool> SparseSpool::create(const std::string& folder, const SpoolLimits& limits) {
  auto fd = open_unnamed(folder);
  if (!fd) return fail(ErrorCode::io_error, 0, errno);
  return SparseSpool(std::move(fd), limits);
}

std::span<std::byte> SparseSpool::room() {
  const std::uint64_t left = limits_.max_size - size();
  const auto free = std::span(buffer_).subspan(used_);
  return free.first(static_cast<std::size_t>(std::min<std::uint64_t>(free.size(), left)));
}

std::optional<Error> SparseSpool::advance(std::size_t n) {
  used_ += n;
  return used_ == buffer_.size() ? flush() : std::nullopt;
}

std::optional<Error> SparseSpool::flush() {
  const auto bytes = std::span<const std::byte>(buffer_).first(used_);
  const std::size_t end = used_;
  used_ = 0;
  for (std::size_t at = 0; at < end;) {
    std::size_t stop = at;
    while (stop < end && !is_zero(bytes.subspan(stop, std::min(kBlock, end - stop))))
      stop = std::min(stop + kBlock, end);
    if (stop > at) {
      if (const auto error = write_run(bytes.subspan(at, stop - at))) return error;
    } else {
      stop = std::min(at + kBlock, end);
      written_to_ += stop - at;
    }
    at = stop;
  }
  return std::nullopt;
}

std::optional<Error> SparseSpool::write_run(std::span<const std::byte> run) {
  if (const auto error = check_free(run.size())) return error;
  while (!run.empty()) {
    const auto n = ::pwrite(fd_.get(), run.data(), run.size(), static_cast<off_t>(written_to_));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Error{ErrorCode::io_error, n < 0 ? errno : EIO, written_to_};
    written_to_ += static_cast<std::uint64_t>(n);
    run = run.subspan(static_cast<std::size_t>(n));
  }
  return std::nullopt;
}

std::optional<Error> SparseSpool::check_free(std::size_t wanted) {
  if (unchecked_ < wanted) {
    struct statvfs fs {};
    if (::fstatvfs(fd_.get(), &fs) != 0) return Error{ErrorCode::io_error, errno, written_to_};
    const std::uint64_t keep = std::max<std::uint64_t>(limits_.keep_free, fs.f_blocks / kFreePart * fs.f_frsize);
    const std::uint64_t free = fs.f_bavail * fs.f_frsize;
    // File systems without a size (f_blocks 0) are left to say ENOSPC themselves.
    const std::uint64_t left = fs.f_blocks == 0 ? kCheckEvery : free - std::min(free, keep);
    if (left < wanted) return Error{ErrorCode::io_error, ENOSPC, written_to_};
    unchecked_ = std::min(left, kCheckEvery);
  }
  unchecked_ -= wanted;
  return std::nullopt;
}

std::optional<Error> SparseSpool::finish() {
  const auto error = flush();
  // Also after a failed write: zeros at the end are holes that only the size tells of.
  if (::ftruncate(fd_.get(), static_cast<off_t>(written_to_)) != 0 && !error)
    return Error{ErrorCode::io_error, errno, written_to_};
  return error;
}

}  // namespace mixstack::process
