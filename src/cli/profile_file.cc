#include "cli/profile_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <system_error>

#include "base/scoped_fd.h"
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

/// A picture that root has made is for whom it was made: as readable as any file that a command writes.
void readable_as_usual(int fd) {
  const mode_t mask = ::umask(0);
  (void)::umask(mask);
  (void)::fchmod(fd, 0666 & ~mask);
}

}  // namespace

ExitCode write_profile_file(const std::string& path, bool is_text, const Environment& environment,
                            const std::function<void(report::Writer&)>& write) {
  (void)std::signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is an error like a full disk
  (void)std::signal(SIGPIPE, SIG_IGN);
  std::optional<pack::OutputFile> file;
  base::ScopedFd device;
  struct stat there {};
  if (path != "-" && ::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    device = base::ScopedFd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));  // a device or a pipe keeps its name
    if (!device) return cannot_write(environment, path, errno);
  } else if (path != "-") {
    auto made = pack::OutputFile::create(path, true);
    if (!made) return cannot_write(environment, path, made.error().os_error);
    file.emplace(std::move(*made));
    readable_as_usual(file->fd());
  } else if (!is_text && ::isatty(environment.out) == 1) {
    FdOutput(environment.err).write("mixstack: this format is nothing for a terminal: -o FILE\n");
    return ExitCode::usage;
  }
  FdOutput out(file ? file->fd() : device ? device.get() : environment.out);
  report::Writer writer([&out](std::string_view piece) { out.write(piece); });
  write(writer);
  writer.flush();
  if (out.error() != 0) return cannot_write(environment, path, out.error());
  if (file)
    if (const auto published = file->publish(); !published)
      return cannot_write(environment, path, published.error().os_error);
  return ExitCode::ok;
}

}  // namespace mixstack::cli
