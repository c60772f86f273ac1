#include "frontends/cli/profile_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include "frontends/cli/asking_user.h"
#include "frontends/cli/fd_output.h"
#include "frontends/cli/output_place.h"
#include "output/report/escape.h"
#include "process/pack/output_file.h"

namespace mixstack::cli {
namespace {

ExitCode complain(const Environment& environment, const std::string& words) {
  FdOutput(environment.err).write("mixstack: " + words + "\n");
  return ExitCode::output;
}

ExitCode cannot_write(const Environment& environment, const std::string& path, int error) {
  return complain(environment, fmt::format("{} could not be written: {}; nothing is left of it",
                                           report::escape_for_terminal(path), std::generic_category().message(error)));
}

/// For output of which a part was written.
ExitCode cannot_write_on(const Environment& environment, const std::string& path, const FdOutput& out) {
  const std::string why = out.error() == EINTR ? "nobody reads it, and a signal ended the wait"
                                               : std::generic_category().message(out.error());
  return complain(environment,
                  fmt::format("{} could not be written whole: {}; {} written",
                              path == "-" ? "standard output" : report::escape_for_terminal(path), why,
                              out.written() == 1 ? "1 byte was" : fmt::format("{} bytes were", out.written())));
}

void ignore_signals_of_writing() {
  (void)std::signal(SIGXFSZ, SIG_IGN);  // exceeding the file size limit becomes an error, like a full disk
  (void)std::signal(SIGPIPE, SIG_IGN);
}

void write_all(FdOutput& out, const WriteProfile& write) {
  report::Writer writer([&out](std::string_view piece) { out.write(piece); });
  write(writer);
  writer.flush();
}

ExitCode write_on(const Environment& environment, const std::string& path, int fd, const WriteProfile& write) {
  FdOutput out(fd, OutputWait::until_signal);
  write_all(out, write);
  return out.error() == 0 ? ExitCode::ok : cannot_write_on(environment, path, out);
}

ExitCode write_device(const Environment& environment, const std::string& path, const OutputDevice& device,
                      const WriteProfile& write) {
  const auto fd = device.open();
  if (fd) return write_on(environment, path, fd->get(), write);
  if (fd.error() != ENXIO || !device.is_pipe()) return cannot_write(environment, path, fd.error());
  return complain(environment, report::escape_for_terminal(path) + " could not be written: nobody reads this pipe");
}

/// Returns the path of the written file.
tl::expected<std::string, ExitCode> write_file(const Environment& environment, const std::string& path,
                                               Result<pack::OutputFile> file, const WriteProfile& write) {
  if (!file) return tl::unexpected(cannot_write(environment, path, file.error().os_error));
  file->be_readable_as_usual();  // mode by umask: a picture made as root is for others to read
  FdOutput out(file->fd());
  write_all(out, write);
  if (out.error() != 0) return tl::unexpected(cannot_write(environment, path, out.error()));
  give_to_asking_user(file->fd(), path);
  auto published = file->publish();
  if (!published) return tl::unexpected(cannot_write(environment, path, published.error().os_error));
  return std::move(*published);
}

}  // namespace

ExitCode write_profile_file(const std::string& path, bool is_text, const Environment& environment,
                            const WriteProfile& write) {
  ignore_signals_of_writing();
  if (path == "-") {
    if (is_text || ::isatty(environment.out) != 1) return write_on(environment, path, environment.out, write);
    FdOutput(environment.err).write("mixstack: this format is nothing for a terminal: -o FILE\n");
    return ExitCode::usage;
  }
  const auto device = OutputDevice::find(path);
  if (!device) return complain(environment, device.error() + ". Nothing was written; another place: -o FILE");
  if (*device) return write_device(environment, path, **device, write);
  const auto written = write_file(environment, path, pack::OutputFile::create(path, true), write);
  return written ? ExitCode::ok : written.error();
}

ExitCode write_answer_to(const std::string& path, const Environment& environment, const WriteProfile& write) {
  if (!path.empty() && path != "-") {
    const ExitCode code = write_profile_file(path, true, environment, write);
    if (code == ExitCode::ok)
      FdOutput(environment.err).write(fmt::format("mixstack: wrote {}\n", report::escape_for_terminal(path)));
    return code;
  }
  FdOutput out(environment.out);
  report::Writer writer([&out](std::string_view piece) { out.write(piece); });
  write(writer);
  writer.flush();
  if (out.error() == 0) return ExitCode::ok;
  FdOutput(environment.err)
      .write(
          fmt::format("mixstack: the answer could not be written: {}\n", std::generic_category().message(out.error())));
  return ExitCode::output;
}

tl::expected<std::string, ExitCode> write_new_profile_file(const std::string& path, const std::string& suffix,
                                                           const Environment& environment, const WriteProfile& write) {
  ignore_signals_of_writing();
  return write_file(environment, path, pack::OutputFile::create_free(path, suffix), write);
}

}  // namespace mixstack::cli
