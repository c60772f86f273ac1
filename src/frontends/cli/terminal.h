// The size of the terminal that a report goes to, and a pager for longer reports.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/scoped_fd.h"

namespace mixstack::cli {

/// Lines and columns of the terminal at a descriptor; both 0: no terminal. The default for an unknown size is 24 lines
/// of 80 columns.
struct TerminalSize {
  std::size_t rows = 0, columns = 0;
};
[[nodiscard]] TerminalSize terminal_size(int fd);

/// The program that shows long output, with its arguments: what MIXSTACK_PAGER says, else PAGER, else `less -FRX`.
/// Empty: none is wanted ("cat", or an empty MIXSTACK_PAGER). No shell reads it: words end at blanks, and a value with
/// characters of shells is not heard. `is_ours`: the variables are of whoever has our rights.
[[nodiscard]] std::vector<std::string> pager_command(const char* own, const char* general, bool is_ours);

/// The pager on the terminal `out`, found on `search_path` and run only if nobody else could have changed it; `less`
/// ends by itself if everything fits the screen, and runs no commands (LESSSECURE). The variables are heard unless
/// mixstack has rights that whoever set them lacks: by sudo, or by capabilities of its file.
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

enum class ColorMode : std::uint8_t { automatic, always, never };
/// Whether output to `fd` has colours.
[[nodiscard]] bool wants_color(ColorMode mode, int fd);

}  // namespace mixstack::cli
