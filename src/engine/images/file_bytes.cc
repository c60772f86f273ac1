#include "engine/images/file_bytes.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>

#include "base/system/regular_file.h"

namespace mixstack::images {
namespace {

constexpr std::uint64_t kChunk = 16 << 10;  // small enough for headers, a multiple of every host page size up to 16 KiB

constexpr std::uint64_t kPopulateFrom = 64 << 10;
constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, Linux 5.14, missing from older headers

class BufferBytes final : public FileBytes {
 public:
  explicit BufferBytes(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] std::span<const std::byte> bytes() const override { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// Reserved address space that fills with the file's bytes chunk by chunk.
class LazyFileBytes final : public FileBytes {
 public:
  LazyFileBytes(base::ScopedFd fd, std::byte* base, std::uint64_t origin, std::uint64_t size, std::uint64_t budget)
      : fd_(std::move(fd)), base_(base), origin_(origin), size_(size), budget_(budget), loaded_((chunks() + 63) / 64) {}
  LazyFileBytes(const LazyFileBytes&) = delete;
  LazyFileBytes& operator=(const LazyFileBytes&) = delete;
  ~LazyFileBytes() override {
    if (base_ != nullptr) ::munmap(base_, static_cast<std::size_t>(size_));
  }

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] std::span<const std::byte> bytes() const override { return range(0, size_); }
  [[nodiscard]] std::span<const std::byte> range(std::uint64_t offset, std::uint64_t size) const override {
    if (offset > size_ || size_ - offset < size || size == 0) return {};
    const std::uint64_t first = offset / kChunk;
    const std::uint64_t last = (offset + size - 1) / kChunk;
    if (!all_loaded(first, last) && !fill(first, last)) return {};
    return {base_ + offset, static_cast<std::size_t>(size)};
  }
  [[nodiscard]] std::size_t copy(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset >= size_) return 0;
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - offset));
    std::size_t done = 0;
    while (done < wanted) {
      const auto n = ::pread(fd_.get(), out.data() + done, wanted - done, static_cast<off_t>(origin_ + offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      done += static_cast<std::size_t>(n);
    }
    return done;
  }

 private:
  [[nodiscard]] std::uint64_t chunks() const { return (size_ + kChunk - 1) / kChunk; }
  [[nodiscard]] bool is_loaded(std::uint64_t chunk) const {
    return (loaded_[chunk / 64].load(std::memory_order_acquire) >> (chunk % 64) & 1) != 0;
  }
  [[nodiscard]] bool all_loaded(std::uint64_t first, std::uint64_t last) const {
    for (std::uint64_t c = first; c <= last; c++)
      if (!is_loaded(c)) return false;
    return true;
  }

  [[nodiscard]] bool fill(std::uint64_t first, std::uint64_t last) const {
    const std::lock_guard lock(mutex_);
    for (std::uint64_t c = first; c <= last; c++) {
      if (is_loaded(c)) continue;
      std::uint64_t end = c + 1;
      while (end <= last && !is_loaded(end)) end++;
      if (!read_chunks(c, end)) return false;
      c = end - 1;
    }
    return true;
  }

  /// Chunks are marked loaded, and so handed out, only when whole: a short read means the file has shrunk.
  [[nodiscard]] bool read_chunks(std::uint64_t first, std::uint64_t end) const {
    std::uint64_t at = first * kChunk;
    const std::uint64_t stop = std::min(end * kChunk, size_);
    if (stop - at > budget_) return false;
    budget_ -= stop - at;
    // Holes cost nothing: reserved pages that were never written to read as zeros, too.
    if (stop - at >= kPopulateFrom && is_hole(at, stop)) return mark_loaded(first, end);
    // One call instead of a page fault every 4 KiB while the kernel copies; older kernels refuse, and nothing is lost.
    if (stop - at >= kPopulateFrom) (void)::madvise(base_ + at, static_cast<std::size_t>(stop - at), kPopulateWrite);
    while (at < stop) {
      const auto n =
          ::pread(fd_.get(), base_ + at, static_cast<std::size_t>(stop - at), static_cast<off_t>(origin_ + at));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      at += static_cast<std::uint64_t>(n);
    }
    return mark_loaded(first, end);
  }
  bool mark_loaded(std::uint64_t first, std::uint64_t end) const {
    for (std::uint64_t c = first; c < end; c++)
      loaded_[c / 64].fetch_or(std::uint64_t{1} << (c % 64), std::memory_order_release);
    return true;
  }
  [[nodiscard]] bool is_hole(std::uint64_t at, std::uint64_t stop) const {
    const off_t data = ::lseek(fd_.get(), static_cast<off_t>(origin_ + at), SEEK_DATA);
    if (data < 0) return errno == ENXIO && size_now() >= origin_ + stop;
    return static_cast<std::uint64_t>(data) >= origin_ + stop;
  }
  [[nodiscard]] std::uint64_t size_now() const {
    struct stat st {};
    return ::fstat(fd_.get(), &st) == 0 ? static_cast<std::uint64_t>(st.st_size) : 0;
  }

  base::ScopedFd fd_;
  std::byte* base_;
  std::uint64_t origin_;  ///< offset in `fd_` where it begins
  std::uint64_t size_;
  mutable std::uint64_t budget_;
  mutable std::mutex mutex_;
  mutable std::vector<std::atomic<std::uint64_t>> loaded_;
};

}  // namespace

Result<std::shared_ptr<const FileBytes>> file_bytes_from_fd(base::ScopedFd fd, const FileLimits& limits) {
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return fail(ErrorCode::io_error, 0, errno);
  if (!S_ISREG(st.st_mode)) return fail(ErrorCode::unsupported);
  return file_bytes_inside(std::move(fd), 0, static_cast<std::uint64_t>(st.st_size), limits);
}

Result<std::shared_ptr<const FileBytes>> file_bytes_inside(base::ScopedFd fd, std::uint64_t offset, std::uint64_t size,
                                                           const FileLimits& limits) {
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return fail(ErrorCode::io_error, 0, errno);
  const auto all = static_cast<std::uint64_t>(st.st_size);
  if (offset > all || all - offset < size) return fail(ErrorCode::truncated, all);
  if (size > limits.reserve) return fail(ErrorCode::limit_exceeded, size);
  if (size == 0) return buffer_file_bytes({});
  void* base = ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return fail(ErrorCode::limit_exceeded, size, errno);
  return std::make_shared<const LazyFileBytes>(std::move(fd), static_cast<std::byte*>(base), offset, size, limits.load);
}

Result<std::shared_ptr<const FileBytes>> open_file_bytes(const std::string& path, const FileLimits& limits) {
  auto fd = base::open_regular(path);
  if (!fd) return fail(fd.error());
  return file_bytes_from_fd(std::move(*fd), limits);
}

std::shared_ptr<const FileBytes> buffer_file_bytes(std::vector<std::byte> bytes) {
  return std::make_shared<const BufferBytes>(std::move(bytes));
}

}  // namespace mixstack::images
