#include "frontends/cli/moment_input.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <system_error>

#include "base/system/regular_file.h"
#include "frontends/cli/fd_output.h"
#include "frontends/cli/input_file.h"
#include "mixstack/memory_files.h"
#include "output/report/escape.h"

namespace mixstack::cli {
namespace {

std::string words(const Error& error, const std::string& path) {
  const std::string name = report::escape_for_terminal(path);
  if (error.os_error != 0)
    return fmt::format("{} cannot be read: {}", name, std::generic_category().message(error.os_error));
  switch (error.code) {
    case ErrorCode::unsupported:
      if (error.value == 0) return fmt::format("{} is no regular file", name);
      return fmt::format("{} is of version {} of the format: a newer mixstack reads it", name, error.value);
    case ErrorCode::truncated:
      return fmt::format("{} was cut: half a moment would show growth that there was not", name);
    case ErrorCode::limit_exceeded:
      return fmt::format("{} holds more than mixstack reads", name);
    case ErrorCode::malformed:
      return fmt::format("{} is damaged", name);
    default:
      return fmt::format("{} is no moment: 'mixstack memory PID --types -o FILE.mxm' makes one, of a core, too", name);
  }
}

}  // namespace

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
  FdOutput(environment.err).write("mixstack: " + words(error, path) + "\n");
  return tl::unexpected(error.code == ErrorCode::not_found           ? ExitCode::no_such_process
                        : error.code == ErrorCode::permission_denied ? ExitCode::permission
                                                                     : ExitCode::unsupported);
}

}  // namespace mixstack::cli
