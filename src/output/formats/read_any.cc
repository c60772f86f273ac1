#include "output/formats/read_any.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <system_error>

#include "base/system/regular_file.h"
#include "mixstack/memory_files.h"
#include "output/files/input_file.h"
#include "output/formats/folded_reader.h"
#include "output/formats/format.h"
#include "output/formats/recording_file.h"
#include "output/report/escape.h"

namespace mixstack::formats {
namespace {

std::string_view name_of(std::string_view path) {
  return path == "-" ? std::string_view{} : path.substr(path.find_last_of('/') + 1);
}

bool is_only_written(std::optional<Format> format) {
  return format && *format != Format::recording && *format != Format::folded;
}

}  // namespace

Result<Recording> read_any(std::span<const std::byte> file, std::string_view path, std::string_view version) {
  if (is_recording(file)) return read_recording(file);
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.find('\0') != std::string_view::npos) return fail(ErrorCode::mismatch);
  auto recording = read_folded(text, name_of(path));
  if (recording) recording->facts.version = version;
  return recording;
}

Result<Recording> read_recording_at(const std::string& path, std::string_view version) {
  const auto bytes = files::read_input_file(path);
  if (!bytes) return fail(bytes.error());
  return read_any(std::as_bytes(std::span(*bytes)), path, version);
}

Result<MemoryMoment> read_moment_at(const std::string& path) {
  const auto bytes = files::read_input_file(path);
  if (!bytes) return fail(bytes.error());
  return read_moment(std::as_bytes(std::span(*bytes)));
}

bool is_moment_file(const std::string& path) {
  const auto fd = base::open_regular(path);
  std::array<std::byte, 16> head{};
  if (!fd) return false;
  const ssize_t got = ::read(fd->get(), head.data(), head.size());
  return got > 0 && is_moment(std::span(head).first(static_cast<std::size_t>(got)));
}

std::string unread_recording_words(const Error& error, const std::string& path) {
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
      if (const auto made = format_of(path); is_only_written(made))
        return fmt::format(
            "{} is what was made of a recording ({}), and not read back: record to FILE.mxr, which "
            "becomes any of these later",
            name, word_of(*made));
      if (error.code == ErrorCode::malformed)
        return fmt::format("{} is damaged, or no recording: neither 'mixstack record -o FILE.mxr' nor folded stacks",
                           name);
      return fmt::format("{} is no recording: neither 'mixstack record -o FILE.mxr' nor folded stacks", name);
  }
}

std::string unread_moment_words(const Error& error, const std::string& path) {
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

}  // namespace mixstack::formats
