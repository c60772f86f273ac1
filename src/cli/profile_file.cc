#include "cli/profile_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <optional>
#include <system_error>

#include "base/scoped_fd.h"
#include "cli/end_signals.h"
#include "cli/fd_output.h"
#include "pack/output_file.h"
#include "report/escape.h"

namespace mixstack::cli {
namespace {

ExitCode cannot_write(const Environment& environment, const std::string& path, int error) {
  const std::string name = path == "-" ? "standard output" : report::escape_for_terminal(path);
  FdOutput(environment.err)
      .write(fmt::format("mixstack: {} could not be written: {}{}\n", name, std::generic_category().message(error),
                         path == "-" ? "" : "; nothing is left of it"));
  return ExitCode::output;
}

/// To who had a part of it.
ExitCode cannot_write_on(const Environment& environment, const std::string& path, const FdOutput& out) {
  const std::string why = out.error() == EINTR ? "nobody reads it, and a signal ended the wait"
                                               : std::generic_category().message(out.error());
  FdOutput(environment.err)
      .write(fmt::format("mixstack: {} could not be written whole: {}; {} written\n",
                         path == "-" ? "standard output" : report::escape_for_terminal(path), why,
                         out.written() == 1 ? "1 byte was" : fmt::format("{} bytes were", out.written())));
  return ExitCode::output;
}

/// A picture that root has made is for whom it was made: as readable as any file that a command writes.
void readable_as_usual(int fd) {
  const mode_t mask = ::umask(0);
  (void)::umask(mask);
  (void)::fchmod(fd, 0666 & ~mask);
}

/// A pipe has its reader soon or never: the open(2) that waits for one has no end.
base::ScopedFd open_device(const std::string& path) {
  constexpr int kTries = 100;
  constexpr timespec kPause{0, 100'000'000};
  for (int i = 0;; i++) {
    base::ScopedFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (fd) {
      (void)::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK);
      return fd;
    }
    const int error = errno;
    struct stat there {};
    const bool is_pipe = ::stat(path.c_str(), &there) == 0 && S_ISFIFO(there.st_mode);
    if (error != ENXIO || !is_pipe || i == kTries || has_end_signal()) {
      errno = error;
      return fd;
    }
    (void)::nanosleep(&kPause, nullptr);
  }
}

}  // namespace

ExitCode write_profile_file(const std::string& path, bool is_text, const Environment& environment,
                            const std::function<void(report::Writer&)>& write, bool replace) {
  (void)std::signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is an error like a full disk
  (void)std::signal(SIGPIPE, SIG_IGN);
  std::optional<pack::OutputFile> file;
  base::ScopedFd device;
  struct stat there {};
  if (path != "-" && ::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    device = open_device(path);  // a device or a pipe keeps its name
    if (!device) return cannot_write(environment, path, errno);
  } else if (path != "-") {
    auto made = pack::OutputFile::create(path, replace);
    if (!made) return cannot_write(environment, path, made.error().os_error);
    file.emplace(std::move(*made));
    readable_as_usual(file->fd());
  } else if (!is_text && ::isatty(environment.out) == 1) {
    FdOutput(environment.err).write("mixstack: this format is nothing for a terminal: -o FILE\n");
    return ExitCode::usage;
  }
  FdOutput out(file     ? file->fd()
               : device ? device.get()
                        : environment.out,
               file ? OutputWait::always : OutputWait::until_signal);
  report::Writer writer([&out](std::string_view piece) { out.write(piece); });
  write(writer);
  writer.flush();
  if (out.error() != 0)
    return file ? cannot_write(environment, path, out.error()) : cannot_write_on(environment, path, out);
  if (file)
    if (const auto published = file->publish(); !published)
      return cannot_write(environment, path, published.error().os_error);
  return ExitCode::ok;
}

}  // namespace mixstack::cli
