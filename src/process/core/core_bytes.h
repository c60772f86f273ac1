// The bytes of a core file: as it lies there, compressed, or from a pipe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/system/scoped_fd.h"
#include "mixstack/diagnosis.h"
#include "mixstack/target.h"

namespace mixstack::process {

/// The encoding of the file when it was opened, told by its first bytes and never by its name.
enum class CoreEncoding : std::uint8_t { plain, zstd, gzip, lz4, xz };
[[nodiscard]] const char* name_of(CoreEncoding encoding);

/// How reading a compressed or piped core ended. After anything but `whole` the bytes end where reading stopped.
enum class CoreStreamEnd : std::uint8_t {
  whole,       ///< to its end, all checksums right
  cut_off,     ///< the input ended inside the stream
  damaged,     ///< the stream contradicts itself or its checksum: bytes already given may be wrong too
  limit,       ///< more than `CoreBytesOptions::max_size`, or a decoder that wants more memory than it may have
  disk_full,   ///< there is no temporary file, or its file system has no more room to spare
  read_error,  ///< the input could not be read further
};

/// Limits for a compressed or piped core. A plain regular file costs nothing.
struct CoreBytesOptions {
  std::uint64_t max_size = std::uint64_t{256} << 30;  ///< most bytes after decompression, zeros included
  /// Beyond `sparse_size` a stream may expand at most so many times. Real cores, mostly zeros, stay far below; a few MB
  /// that expand to 256 GiB of zeros would keep us busy for minutes.
  std::uint64_t sparse_size = std::uint64_t{16} << 30, most_expansion = 4096;
  std::string temporary_folder;                        ///< empty: $TMPDIR, else /var/tmp, else /tmp
  std::uint64_t keep_free = std::uint64_t{256} << 20;  ///< bytes left free on its file system; never less than 5 %
  std::chrono::milliseconds writer_wait{10'000};       ///< for somebody to open a FIFO for writing
};

/// Random access to a core. Nothing is mapped and nothing is held in memory: a file that shrinks meanwhile is a short
/// read. A compressed or piped core is written once, sparse, to a temporary file that has no name, so that nothing is
/// left behind whatever happens to us. Thread-safe once opened.
class CoreBytes final {
 public:
  /// Opens a regular file, a FIFO, or standard input ("-"); compressed (.zst, .gz, .lz4, .xz) or not. Errors:
  /// `not_found`, `permission_denied`, `io_error` (it cannot be opened), `unsupported` (a directory, device or
  /// terminal). A fault while unpacking shortens the bytes and is reported by `diagnosis()`; it is an error only if not
  /// a single byte was unpacked: `truncated`, `malformed` (the compressed stream's own), `limit_exceeded`, `io_error`.
  /// `limit_exceeded` with an `os_error` concerns the temporary file: it cannot be made, or has no room (ENOSPC).
  /// `io_error` with ETIMEDOUT: nobody writes to the FIFO.
  [[nodiscard]] static Result<std::unique_ptr<CoreBytes>> open(const std::string& path);
  [[nodiscard]] static Result<std::unique_ptr<CoreBytes>> open(const std::string& path,
                                                               const CoreBytesOptions& options);
  /// The same for a descriptor; `path` is only what it is called.
  [[nodiscard]] static Result<std::unique_ptr<CoreBytes>> from_fd(base::ScopedFd fd, std::string path,
                                                                  const CoreBytesOptions& options);

  /// Bytes of the core, decompressed; of a regular file as it was when opened.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Reads up to `out.size()` bytes; fewer only where the file ends, none beyond it. Fails with `io_error`.
  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> out) const;
  /// Some of these bytes as a core of their own, called `name`; cut off at the end. Shares the file.
  [[nodiscard]] Result<std::unique_ptr<CoreBytes>> part(std::uint64_t offset, std::uint64_t size,
                                                        std::string name) const;
  /// Marks a plain file as cut off, which only its reader notices. A stream's own diagnosis stays.
  void tell_cut_off(Diagnosis why);
  /// Some of these bytes as a file; all of it must be there. Shares the file.
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> file_inside(std::uint64_t offset, std::uint64_t size) const;
  /// As given to open().
  [[nodiscard]] const std::string& path() const { return path_; }

  [[nodiscard]] CoreEncoding encoding() const { return encoding_; }
  [[nodiscard]] bool decompressed() const { return encoding_ != CoreEncoding::plain; }
  [[nodiscard]] CoreStreamEnd stream_end() const { return stream_end_; }
  /// Whether the compressed or piped stream ended early, for whatever reason. Says nothing about a plain file that is
  /// shorter than its headers claim, unless `tell_cut_off` did.
  [[nodiscard]] bool truncated() const { return stream_end_ != CoreStreamEnd::whole; }
  /// Why it ended early, in words, and what to do.
  [[nodiscard]] const std::optional<Diagnosis>& diagnosis() const { return diagnosis_; }

 private:
  CoreBytes(base::ScopedFd fd, std::string path);
  void spool(const CoreBytesOptions& options);

  base::ScopedFd fd_;
  std::string path_;
  std::uint64_t origin_ = 0;  ///< where in `fd_` the bytes begin
  std::uint64_t size_ = 0;
  CoreEncoding encoding_ = CoreEncoding::plain;
  CoreStreamEnd stream_end_ = CoreStreamEnd::whole;
  std::optional<Diagnosis> diagnosis_;
};

}  // namespace mixstack::process
