#include "output/files/written_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include "base/system/asking_user.h"
#include "output/files/fd_output.h"
#include "output/files/output_device.h"
#include "output/files/output_file.h"
#include "output/report/escape.h"

namespace mixstack::files {
namespace {

using Written = tl::expected<void, NotWritten>;

tl::unexpected<NotWritten> because(std::string words, int os_error = 0) {
  return tl::unexpected(NotWritten{NotWritten::Why::place, std::move(words), os_error});
}

tl::unexpected<NotWritten> nothing_left(const std::string& path, int error) {
  return because(fmt::format("{} could not be written: {}; nothing is left of it", report::escape_for_terminal(path),
                             std::generic_category().message(error)),
                 error);
}

/// For output of which a part was written.
tl::unexpected<NotWritten> not_whole(const std::string& path, const FdOutput& out) {
  const std::string why = out.error() == EINTR ? "nobody reads it, and a signal ended the wait"
                                               : std::generic_category().message(out.error());
  return because(fmt::format("{} could not be written whole: {}; {} written",
                             path == "-" ? "standard output" : report::escape_for_terminal(path), why,
                             out.written() == 1 ? "1 byte was" : fmt::format("{} bytes were", out.written())),
                 out.error());
}

void ignore_signals_of_writing() {
  (void)std::signal(SIGXFSZ, SIG_IGN);  // exceeding the file size limit becomes an error, like a full disk
  (void)std::signal(SIGPIPE, SIG_IGN);
}

void write_all(FdOutput& out, const WriteOutput& write) {
  report::Writer writer([&out](std::string_view piece) { out.write(piece); });
  write(writer);
  writer.flush();
}

Written write_on(const std::string& path, int fd, const WriteOutput& write) {
  FdOutput out(fd, OutputWait::until_signal);
  write_all(out, write);
  if (out.error() != 0) return not_whole(path, out);
  return {};
}

Written write_device(const std::string& path, const OutputDevice& device, const WriteOutput& write) {
  const auto fd = device.open();
  if (fd) return write_on(path, fd->get(), write);
  if (fd.error() != ENXIO || !device.is_pipe()) return nothing_left(path, fd.error());
  return because(report::escape_for_terminal(path) + " could not be written: nobody reads this pipe", ENXIO);
}

/// Returns the path of the written file.
tl::expected<std::string, NotWritten> write_file(const std::string& path, Result<OutputFile> file,
                                                 const WriteOutput& write) {
  if (!file) return nothing_left(path, file.error().os_error);
  file->be_readable_as_usual();  // mode by umask: a picture made as root is for others to read
  if (const int error = write_text_to(file->fd(), write); error != 0) return nothing_left(path, error);
  base::give_to_asking_user(file->fd(), path);
  auto published = file->publish();
  if (!published) return nothing_left(path, published.error().os_error);
  return std::move(*published);
}

}  // namespace

int write_text_to(int fd, const WriteOutput& write) {
  FdOutput out(fd);
  write_all(out, write);
  return out.error();
}

Written write_output(const OutputPlace& place, const WriteOutput& write) {
  ignore_signals_of_writing();
  if (place.path == "-") {
    if (place.is_text || ::isatty(place.standard_output) != 1)
      return write_on(place.path, place.standard_output, write);
    return tl::unexpected(NotWritten{NotWritten::Why::for_terminal, "this format is nothing for a terminal: -o FILE"});
  }
  const auto device = OutputDevice::find(place.path);
  if (!device)
    return because(device.error() + ". Nothing was written; another place: -o FILE",
                   fault_of_place(place.path).os_error);
  if (*device) return write_device(place.path, **device, write);
  const auto written = write_file(place.path, OutputFile::create(place.path, true), write);
  if (!written) return tl::unexpected(written.error());
  return {};
}

tl::expected<std::string, NotWritten> write_new_file(const std::string& path, const std::string& suffix,
                                                     const WriteOutput& write) {
  ignore_signals_of_writing();
  return write_file(path, OutputFile::create_free(path, suffix), write);
}

}  // namespace mixstack::files
