#include "frontends/cli/input.h"

#include "frontends/cli/output.h"
#include "frontends/cli/version.h"
#include "output/formats/read_any.h"

namespace mixstack::cli {
namespace {

ExitCode exit_code_of(const Error& error) {
  return error.code == ErrorCode::not_found           ? ExitCode::no_such_process
         : error.code == ErrorCode::permission_denied ? ExitCode::permission
                                                      : ExitCode::unsupported;
}

}  // namespace

tl::expected<Recording, ExitCode> read_recording_file(const std::string& path, const Environment& environment) {
  auto recording = formats::read_recording_at(path, version_number());
  if (recording) return std::move(*recording);
  const std::string words = formats::unread_recording_words(recording.error(), path);
  return tl::unexpected(complain(environment, words, exit_code_of(recording.error())));
}

tl::expected<MemoryMoment, ExitCode> read_moment_file(const std::string& path, const Environment& environment) {
  auto moment = formats::read_moment_at(path);
  if (moment) return std::move(*moment);
  const std::string words = formats::unread_moment_words(moment.error(), path);
  return tl::unexpected(complain(environment, words, exit_code_of(moment.error())));
}

}  // namespace mixstack::cli
