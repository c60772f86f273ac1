// The terminal a report goes to: how wide it is, and a pager for what is longer than it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "base/scoped_fd.h"

namespace mixstack::cli {

/// Lines and columns of the terminal behind a descriptor; both 0 where it is none. A terminal that does not say has 80
/// columns and 24 lines.
struct TerminalSize {
  std::size_t rows = 0, columns = 0;
};
[[nodiscard]] TerminalSize terminal_size(int fd);

/// `less`, found on `search_path` and run only if nobody else could have changed it, on the terminal `out`; it ends by
/// itself where all fits the screen, and runs no commands (LESSSECURE). The user's own choice of a pager is not asked:
/// mixstack is often run as root by somebody else's environment.
class Pager {
 public:
  Pager(const std::string& search_path, int out);
  Pager(const Pager&) = delete;
  Pager& operator=(const Pager&) = delete;
  /// Waits until the reader is done.
  ~Pager();

  /// Where to write: the pager's input; `out` itself where there is no pager.
  [[nodiscard]] int fd() const { return input_ ? input_.get() : out_; }
  [[nodiscard]] bool is_running() const { return pid_ > 0; }

 private:
  int out_;
  base::ScopedFd input_;
  pid_t pid_ = -1;
};

}  // namespace mixstack::cli
