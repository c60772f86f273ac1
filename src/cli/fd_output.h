// Text to a file descriptor, remembering the first failure.
#pragma once

#include <string_view>

namespace mixstack::cli {

/// Borrows the descriptor. After a failure everything further is dropped.
class FdOutput {
 public:
  explicit FdOutput(int fd) : fd_(fd) {}
  void write(std::string_view text);
  /// errno of the first failure, 0: none.
  [[nodiscard]] int error() const { return error_; }

 private:
  int fd_;
  int error_ = 0;
};

}  // namespace mixstack::cli
