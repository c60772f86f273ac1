#include "frontends/cli/moment_input.h"

#include <unistd.h>

#include <array>
#include <span>

#include "base/system/regular_file.h"
#include "frontends/cli/fd_output.h"
#include "frontends/cli/input_file.h"
#include "mixstack/memory_files.h"
#include "output/formats/read_any.h"

namespace mixstack::cli {

bool is_moment_file(const std::string& path) {
  const auto fd = base::open_regular(path);
  std::array<std::byte, 16> head{};
  if (!fd) return false;
  const ssize_t got = ::read(fd->get(), head.data(), head.size());
  return got > 0 && is_moment(std::span(head).first(static_cast<std::size_t>(got)));
}

tl::expected<MemoryMoment, ExitCode> read_moment_file(const std::string& path, const Environment& environment) {
  Error error;
  if (const auto bytes = read_input_file(path); bytes) {
    auto moment = read_moment(std::as_bytes(std::span(bytes->data(), bytes->size())));
    if (moment) return std::move(*moment);
    error = moment.error();
  } else {
    error = bytes.error();
  }
  FdOutput(environment.err).write("mixstack: " + formats::unread_moment_words(error, path) + "\n");
  return tl::unexpected(error.code == ErrorCode::not_found           ? ExitCode::no_such_process
                        : error.code == ErrorCode::permission_denied ? ExitCode::permission
                                                                     : ExitCode::unsupported);
}

}  // namespace mixstack::cli
