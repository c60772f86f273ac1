// Writes text to a file descriptor, and keeps the first error.
#pragma once

#include <cstdint>
#include <string_view>

namespace mixstack::files {

/// How long to wait for a reader that does not read.
enum class OutputWait : std::uint8_t {
  always,
  until_signal,  ///< until a signal of `EndSignals` is pending and there was no room for a second
};

/// Borrows the descriptor. After an error all further text is dropped.
class FdOutput {
 public:
  explicit FdOutput(int fd, OutputWait wait = OutputWait::always) : fd_(fd), wait_(wait) {}
  void write(std::string_view text);
  /// errno of the first failure, 0: none. EINTR: a signal ended the wait for a reader.
  [[nodiscard]] int error() const { return error_; }
  /// Bytes written.
  [[nodiscard]] std::uint64_t written() const { return written_; }

 private:
  [[nodiscard]] bool has_room() const;

  int fd_;
  OutputWait wait_;
  int error_ = 0;
  std::uint64_t written_ = 0;
};

}  // namespace mixstack::files
