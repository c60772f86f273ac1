#include "output/files/fd_output.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "output/files/end_signals.h"

namespace mixstack::files {
namespace {

/// A pipe that polls writable takes a page without blocking (fs/pipe.c).
constexpr std::size_t kAtOnce = 4096;

}  // namespace

/// Blocked signals do not interrupt write(2), so a pipe whose reader does not read would block us for ever.
bool FdOutput::has_room() const {
  constexpr int kMilliseconds = 100, kLooks = 10;
  for (int looks = 0; looks < kLooks;) {
    pollfd room{fd_, POLLOUT, 0};
    const int found = ::poll(&room, 1, kMilliseconds);
    if (found > 0 || (found < 0 && errno != EINTR)) return true;  // write(2) will report the error
    if (has_end_signal()) looks++;
  }
  return false;
}

void FdOutput::write(std::string_view text) {
  while (!text.empty() && error_ == 0) {
    const bool may_end = wait_ == OutputWait::until_signal;
    if (may_end && !has_room()) {
      error_ = EINTR;
      return;
    }
    const ssize_t written = ::write(fd_, text.data(), may_end ? std::min(text.size(), kAtOnce) : text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
      written_ += static_cast<std::uint64_t>(written);
    }
    if (written < 0 && errno != EINTR) error_ = errno;
    if (written == 0) error_ = EIO;
  }
}

}  // namespace mixstack::files
