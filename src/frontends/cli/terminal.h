// The size of the terminal that a report goes to, and a pager for longer reports.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "base/system/scoped_fd.h"

namespace mixstack::cli {

/// Lines and columns of the terminal at a descriptor; both 0: no terminal. The default for an unknown size is 24 lines
/// of 80 columns.
struct TerminalSize {
  std::size_t rows = 0, columns = 0;
};
[[nodiscard]] TerminalSize terminal_size(int fd);

/// `less` on the terminal `out`, found on `search_path` and run only if nobody else could have changed it. It ends by
/// itself if everything fits the screen, and runs no commands (LESSSECURE). $PAGER is ignored, because mixstack is
/// often run as root with somebody else's environment.
class Pager {
 public:
  Pager(const std::string& search_path, int out);
  Pager(const Pager&) = delete;
  Pager& operator=(const Pager&) = delete;
  /// Waits until the pager ends.
  ~Pager();

  /// The descriptor to write to: the pager's input, or `out` if there is no pager.
  [[nodiscard]] int fd() const { return input_ ? input_.get() : out_; }
  [[nodiscard]] bool is_running() const { return pid_ > 0; }

 private:
  int out_;
  base::ScopedFd input_;
  pid_t pid_ = -1;
};

}  // namespace mixstack::cli
