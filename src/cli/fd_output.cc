#include "cli/fd_output.h"

#include <unistd.h>

#include <cerrno>

namespace mixstack::cli {

void FdOutput::write(std::string_view text) {
  while (!text.empty() && error_ == 0) {
    const ssize_t written = ::write(fd_, text.data(), text.size());
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    if (written < 0 && errno != EINTR) error_ = errno;
    if (written == 0) error_ = EIO;
  }
}

}  // namespace mixstack::cli
