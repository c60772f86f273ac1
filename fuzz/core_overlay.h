// A core in memory that is damaged, read as a file, and made whole again: nothing is copied per mutation.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "base/system/scoped_fd.h"

namespace mixstack::fuzz {

/// Not thread-safe. Whatever the machine refuses ends the program: a fuzzer without its input proves nothing.
class CoreOverlay {
 public:
  explicit CoreOverlay(const std::string& path)
      : original_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), copy_(::memfd_create("core", MFD_CLOEXEC)) {
    struct stat st {};
    require(original_ && copy_ && ::fstat(original_.get(), &st) == 0);
    size_ = cut_ = static_cast<std::uint64_t>(st.st_size);
    require(::ftruncate(copy_.get(), st.st_size) == 0);
    copy_from(0);
  }

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] int fd() const { return copy_.get(); }
  /// A name under which the copy can be opened like any file.
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(copy_.get()); }

  /// Zeros beyond the end.
  [[nodiscard]] std::uint64_t word(std::uint64_t offset) const {
    std::uint64_t value = 0;
    read(offset, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  void read(std::uint64_t offset, std::span<std::byte> out) const {
    std::fill(out.begin(), out.end(), std::byte{0});
    if (offset < size_) (void)!::pread(copy_.get(), out.data(), out.size(), static_cast<off_t>(offset));
  }

  /// What would lie beyond the end is dropped.
  void patch(std::uint64_t offset, std::span<const std::byte> bytes) {
    if (offset >= size_) return;
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), size_ - offset));
    Undo undo{offset, std::vector<std::byte>(n)};
    read(offset, undo.bytes);
    undo_.push_back(std::move(undo));
    require(::pwrite(copy_.get(), bytes.data(), n, static_cast<off_t>(offset)) == static_cast<ssize_t>(n));
  }
  template <class T>
  void put(std::uint64_t offset, T value) {
    patch(offset, std::as_bytes(std::span(&value, 1)));
  }
  /// Last of all patches: they do not reach beyond it.
  void cut(std::uint64_t size) { cut_ = std::min({size, size_, cut_}); }
  void apply_cut() { require(cut_ == size_ || ::ftruncate(copy_.get(), static_cast<off_t>(cut_)) == 0); }

  void restore() {
    if (cut_ < size_) {
      require(::ftruncate(copy_.get(), static_cast<off_t>(size_)) == 0);
      copy_from(cut_);
      cut_ = size_;
    }
    for (auto u = undo_.rbegin(); u != undo_.rend(); ++u)
      require(::pwrite(copy_.get(), u->bytes.data(), u->bytes.size(), static_cast<off_t>(u->offset)) ==
              static_cast<ssize_t>(u->bytes.size()));
    undo_.clear();
  }

 private:
  struct Undo {
    std::uint64_t offset;
    std::vector<std::byte> bytes;
  };
  static void require(bool ok) {
    if (!ok) std::abort();
  }
  /// Data only: holes stay holes.
  void copy_from(std::uint64_t begin) {
    std::vector<std::byte> buffer(1 << 20);
    for (auto at = static_cast<off_t>(begin); at < static_cast<off_t>(size_);) {
      at = ::lseek(original_.get(), at, SEEK_DATA);
      if (at < 0) break;
      const off_t end = ::lseek(original_.get(), at, SEEK_HOLE);
      while (at < end) {
        const auto wanted = std::min<std::size_t>(buffer.size(), static_cast<std::size_t>(end - at));
        const auto n = ::pread(original_.get(), buffer.data(), wanted, at);
        require(n > 0 && ::pwrite(copy_.get(), buffer.data(), static_cast<std::size_t>(n), at) == n);
        at += n;
      }
    }
  }

  base::ScopedFd original_, copy_;
  std::uint64_t size_ = 0, cut_ = 0;
  std::vector<Undo> undo_;
};

}  // namespace mixstack::fuzz
