// Text to a file descriptor, remembering the first failure.
#pragma once

#include <cstdint>
#include <string_view>

namespace mixstack::cli {

/// How long a reader that does not read is waited for.
enum class OutputWait : std::uint8_t {
  always,
  until_signal,  ///< not any more when a signal of `EndSignals` is held back, and there was no room for a second
};

/// Borrows the descriptor. After a failure everything further is dropped.
class FdOutput {
 public:
  explicit FdOutput(int fd, OutputWait wait = OutputWait::always) : fd_(fd), wait_(wait) {}
  void write(std::string_view text);
  /// errno of the first failure, 0: none. EINTR: a signal ended the wait for a reader.
  [[nodiscard]] int error() const { return error_; }
  /// Bytes that were taken from us.
  [[nodiscard]] std::uint64_t written() const { return written_; }

 private:
  [[nodiscard]] bool has_room() const;

  int fd_;
  OutputWait wait_;
  int error_ = 0;
  std::uint64_t written_ = 0;
};

}  // namespace mixstack::cli
