// A tar archive that is compressed as it is written.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "mixstack/result.h"

struct ZSTD_CCtx_s;

namespace mixstack::pack {

/// Members one after the other, each with its size known before its bytes: `begin`, `write` until all are there. Memory
/// is bounded, whatever is written. The first error stays, and later calls do nothing.
class PackStream {
 public:
  /// Borrows the descriptor: a file, a pipe or a socket.
  explicit PackStream(int fd, std::uint64_t time);
  PackStream(const PackStream&) = delete;
  PackStream& operator=(const PackStream&) = delete;
  ~PackStream();

  void begin(std::string_view path, std::uint64_t size);
  /// More than `begin` said is cut off.
  void write(std::span<const std::byte> bytes);
  /// Fills the rest of the member with zeros, and adds its padding. Answers how many bytes were missing.
  std::uint64_t end();
  /// The end of the archive and of the compressed stream. Errors: `io_error` with the system's (ENOSPC: disk full).
  [[nodiscard]] Result<void> finish();
  [[nodiscard]] bool has_failed() const { return error_.code != ErrorCode::none; }
  /// Bytes that went to the descriptor.
  [[nodiscard]] std::uint64_t written() const { return written_; }

 private:
  void compress(std::span<const std::byte> bytes, bool is_last);
  void put(std::span<const std::byte> bytes);

  int fd_;
  std::uint64_t time_;
  std::uint64_t left_ = 0, size_ = 0, written_ = 0;
  std::unique_ptr<ZSTD_CCtx_s, std::size_t (*)(ZSTD_CCtx_s*)> context_;
  std::vector<std::byte> buffer_;
  Error error_;
};

}  // namespace mixstack::pack
