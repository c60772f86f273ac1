#include "frontends/cli/recording_input.h"

#include <fmt/format.h>

#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include "frontends/cli/fd_output.h"
#include "frontends/cli/input_file.h"
#include "frontends/cli/version.h"
#include "output/formats/folded_reader.h"
#include "output/formats/format.h"
#include "output/formats/recording_file.h"
#include "output/report/escape.h"

namespace mixstack::cli {
namespace {

std::string_view name_of(std::string_view path) {
  return path == "-" ? std::string_view{} : path.substr(path.find_last_of('/') + 1);
}

Result<Recording> parse(const std::vector<char>& bytes, std::string_view path) {
  const std::span<const std::byte> raw(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size());
  if (formats::is_recording(raw)) return formats::read_recording(raw);
  const std::string_view text(bytes.data(), bytes.size());
  if (text.find('\0') != std::string_view::npos) return fail(ErrorCode::mismatch);
  auto recording = formats::read_folded(text, name_of(path));
  if (recording) recording->facts.version = version_number();
  return recording;
}

bool is_only_written(std::optional<formats::Format> format) {
  return format && *format != formats::Format::recording && *format != formats::Format::folded;
}

std::string words(const Error& error, const std::string& path) {
  const std::string name = path == "-" ? "standard input" : report::escape_for_terminal(path);
  if (error.os_error != 0)
    return fmt::format("{} cannot be read: {}", name, std::generic_category().message(error.os_error));
  switch (error.code) {
    case ErrorCode::unsupported:
      if (error.value == 0) return fmt::format("{} is no regular file; a pipe can be read as -", name);
      return fmt::format("{} is of version {} of the format: a newer mixstack reads it", name, error.value);
    case ErrorCode::truncated:
      return fmt::format("{} was cut right at its begin: nothing of it can be read", name);
    case ErrorCode::limit_exceeded:
      return fmt::format("{} holds more than mixstack reads (1 GiB, or too many different stacks)", name);
    case ErrorCode::malformed:
    default:
      if (const auto made = formats::format_of(path); is_only_written(made))
        return fmt::format(
            "{} is what was made of a recording ({}), and not read back: record to FILE.mxr, which "
            "becomes any of these later",
            name, formats::word_of(*made));
      if (error.code == ErrorCode::malformed)
        return fmt::format("{} is damaged, or no recording: neither 'mixstack record -o FILE.mxr' nor folded stacks",
                           name);
      return fmt::format("{} is no recording: neither 'mixstack record -o FILE.mxr' nor folded stacks", name);
  }
}

}  // namespace

tl::expected<Recording, ExitCode> read_recording_file(const std::string& path, const Environment& environment) {
  Error error;
  auto bytes = read_input_file(path);
  if (bytes) {
    auto recording = parse(*bytes, path);
    if (recording) return std::move(*recording);
    error = recording.error();
  } else {
    error = bytes.error();
  }
  FdOutput(environment.err).write("mixstack: " + words(error, path) + "\n");
  const bool is_absent = error.code == ErrorCode::not_found;
  const bool is_refused = error.code == ErrorCode::permission_denied;
  return tl::unexpected(is_absent    ? ExitCode::no_such_process
                        : is_refused ? ExitCode::permission
                                     : ExitCode::unsupported);
}

}  // namespace mixstack::cli
