// A temporary file without a name that takes a core's bytes in sequence and leaves its zeros as holes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/system/scoped_fd.h"
#include "mixstack/result.h"

namespace mixstack::process {

struct SpoolLimits {
  std::uint64_t max_size = 0;   ///< most bytes taken, zeros included
  std::uint64_t keep_free = 0;  ///< bytes to leave free on the file system; never less than 5 % of it
};

/// The folder for temporary files: `given`, else $TMPDIR, else /var/tmp (on disk, where /tmp may be memory), else /tmp.
[[nodiscard]] std::string temporary_folder(const std::string& given);

/// Written through a buffer: ask for room(), fill it, advance(); at the end finish(). Not thread-safe.
class SparseSpool {
 public:
  /// A file in `folder`: O_TMPFILE, or where the file system does not know it, created and unlinked at once.
  [[nodiscard]] static Result<SparseSpool> create(const std::string& folder, const SpoolLimits& limits);

  /// Where the next bytes go. Empty only when the limit is reached.
  [[nodiscard]] std::span<std::byte> room();
  /// Takes the first `n` bytes of what room() gave. Fails with `io_error` when the file system has no more room
  /// (ENOSPC, also when it would leave less free than asked) or cannot be written; what was taken before stays.
  [[nodiscard]] std::optional<Error> advance(std::size_t n);
  /// Writes what is left and sets the file's size.
  [[nodiscard]] std::optional<Error> finish();

  [[nodiscard]] std::uint64_t size() const { return written_to_ + used_; }
  [[nodiscard]] std::uint64_t limit() const { return limits_.max_size; }
  [[nodiscard]] base::ScopedFd take() { return std::move(fd_); }

 private:
  SparseSpool(base::ScopedFd fd, const SpoolLimits& limits);
  [[nodiscard]] std::optional<Error> flush();
  [[nodiscard]] std::optional<Error> write_run(std::span<const std::byte> run);
  [[nodiscard]] std::optional<Error> check_free(std::size_t wanted);

  base::ScopedFd fd_;
  SpoolLimits limits_;
  std::vector<std::byte> buffer_;
  std::size_t used_ = 0;
  std::uint64_t written_to_ = 0;  ///< file offset of the buffer's start, a multiple of the block size
  std::uint64_t unchecked_ = 0;   ///< bytes that may still be written before the file system is asked again
};

}  // namespace mixstack::process
