#include "output/files/output_device.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <system_error>

#include "output/files/end_signals.h"
#include "output/report/escape.h"

namespace mixstack::files {
namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

bool is_trusted(const struct stat& there) { return there.st_uid == 0 || there.st_uid == ::geteuid(); }

/// Whether the link belongs to us or root, and nobody else can replace it in its folder.
bool may_be_followed(int folder, const struct stat& link) {
  struct stat around {};
  if (!is_trusted(link) || ::fstat(folder, &around) != 0 || !is_trusted(around)) return false;
  return (around.st_mode & 0022) == 0 || (around.st_mode & S_ISVTX) != 0;
}

std::string path_of(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

}  // namespace

tl::expected<std::optional<OutputDevice>, std::string> OutputDevice::find(const std::string& path) {
  const base::ScopedFd folder(::open(folder_of(path).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::string name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  base::ScopedFd found(folder ? ::openat(folder.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1);
  struct stat there {};
  if (!found || ::fstat(found.get(), &there) != 0) return std::nullopt;
  const bool is_link = S_ISLNK(there.st_mode);
  if (is_link && may_be_followed(folder.get(), there)) {
    found = base::ScopedFd(::openat(folder.get(), name.c_str(), O_PATH | O_CLOEXEC));
    if (!found || ::fstat(found.get(), &there) != 0) there = {};
  }
  if (S_ISFIFO(there.st_mode) || S_ISCHR(there.st_mode) || S_ISSOCK(there.st_mode))
    return OutputDevice(std::move(found), S_ISFIFO(there.st_mode));
  if (is_link) return tl::unexpected(report::escape_for_terminal(path) + " is a link, and links are not followed");
  if (S_ISBLK(there.st_mode))
    return tl::unexpected(report::escape_for_terminal(path) + " is a block device: what is on it would be lost");
  return std::nullopt;
}

int OutputDevice::refusal() const { return ::access(path_of(found_.get()).c_str(), W_OK) == 0 ? 0 : errno; }

/// Polls for a reader of a pipe (ENXIO: none yet), since a blocking open(2) might never return.
tl::expected<base::ScopedFd, int> OutputDevice::open() const {
  constexpr int kTries = 100;
  constexpr timespec kPause{0, 100'000'000};
  const std::string path = path_of(found_.get());
  for (int i = 0;; i++) {
    base::ScopedFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (fd) {
      (void)::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK);
      return fd;
    }
    const int error = errno;
    if (error != ENXIO || !is_pipe_ || i == kTries || has_end_signal()) return tl::unexpected(error);
    (void)::nanosleep(&kPause, nullptr);
  }
}

PlaceFault fault_of_place(const std::string& path) {
  constexpr std::string_view kElsewhere = ". Nothing was recorded; another place: -o FILE";
  const auto refused = [&](const std::string& place, int error) {
    return PlaceFault{"nothing can be written in " + report::escape_for_terminal(place) + ": " +
                          std::generic_category().message(error) + std::string(kElsewhere),
                      error};
  };
  struct stat there {};
  const bool is_there = !path.empty() && ::lstat(path.c_str(), &there) == 0;
  const int why_not = is_there ? 0 : errno;
  if (is_there && S_ISDIR(there.st_mode)) return refused(path, EISDIR);
  if (is_there && !S_ISREG(there.st_mode)) {
    // Devices and pipes are written in place, so their folder need not be writable.
    const auto device = OutputDevice::find(path);
    if (!device)
      return {device.error() + std::string(kElsewhere) + ", or -o - for standard output",
              S_ISLNK(there.st_mode) ? ELOOP : ENODEV};
    if (*device) return (*device)->refusal() == 0 ? PlaceFault{} : refused(path, (*device)->refusal());
  }
  const std::string folder = folder_of(path);
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return refused(folder, errno);
  return !path.empty() && !is_there && why_not != ENOENT ? refused(path, why_not) : PlaceFault{};
}

}  // namespace mixstack::files
