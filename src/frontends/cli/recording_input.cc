#include "frontends/cli/recording_input.h"

#include <span>

#include "frontends/cli/fd_output.h"
#include "frontends/cli/input_file.h"
#include "frontends/cli/version.h"
#include "output/formats/read_any.h"

namespace mixstack::cli {

tl::expected<Recording, ExitCode> read_recording_file(const std::string& path, const Environment& environment) {
  Error error;
  auto bytes = read_input_file(path);
  if (bytes) {
    auto recording = formats::read_any(std::as_bytes(std::span(*bytes)), path, version_number());
    if (recording) return std::move(*recording);
    error = recording.error();
  } else {
    error = bytes.error();
  }
  FdOutput(environment.err).write("mixstack: " + formats::unread_recording_words(error, path) + "\n");
  const bool is_absent = error.code == ErrorCode::not_found;
  const bool is_refused = error.code == ErrorCode::permission_denied;
  return tl::unexpected(is_absent    ? ExitCode::no_such_process
                        : is_refused ? ExitCode::permission
                                     : ExitCode::unsupported);
}

}  // namespace mixstack::cli
