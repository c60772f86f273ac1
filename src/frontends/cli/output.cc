#include "frontends/cli/output.h"

#include <fmt/format.h>

#include <system_error>

#include "frontends/cli/version.h"
#include "output/formats/read_any.h"
#include "output/report/escape.h"

namespace mixstack::cli {
namespace {

ExitCode exit_code_of_file(const Error& error) {
  return error.code == ErrorCode::not_found           ? ExitCode::no_such_process
         : error.code == ErrorCode::permission_denied ? ExitCode::permission
                                                      : ExitCode::unsupported;
}

}  // namespace

void say(const Environment& environment, const std::string& words) {
  FdOutput(environment.err).write("mixstack: " + words + (words.ends_with('\n') ? "" : "\n"));
}

ExitCode complain(const Environment& environment, const std::string& words, ExitCode code) {
  say(environment, words);
  return code;
}

ExitCode complain(const Environment& environment, const files::NotWritten& why) {
  return complain(environment, why.words,
                  why.why == files::NotWritten::Why::for_terminal ? ExitCode::usage : ExitCode::output);
}

ExitCode complain(const Environment& environment, const machine::Refused& refused) {
  say(environment, refused.words);
  return exit_code_of(refused.problem);
}

ExitCode write_file(const std::string& path, bool is_text, const Environment& environment,
                    const files::WriteOutput& write) {
  const auto written = files::write_output({path, is_text, environment.out}, write);
  return written ? ExitCode::ok : complain(environment, written.error());
}

ExitCode write_answer_to(const std::string& path, const Environment& environment, const files::WriteOutput& write) {
  if (!path.empty() && path != "-") {
    const ExitCode code = write_file(path, true, environment, write);
    if (code == ExitCode::ok) say(environment, "wrote " + report::escape_for_terminal(path));
    return code;
  }
  const int error = files::write_text_to(environment.out, write);
  return error == 0
             ? ExitCode::ok
             : complain(environment,
                        fmt::format("the answer could not be written: {}", std::generic_category().message(error)),
                        ExitCode::output);
}

tl::expected<Recording, ExitCode> read_recording_file(const std::string& path, const Environment& environment) {
  auto recording = formats::read_recording_at(path, version_number());
  if (recording) return std::move(*recording);
  const std::string words = formats::unread_recording_words(recording.error(), path);
  return tl::unexpected(complain(environment, words, exit_code_of_file(recording.error())));
}

tl::expected<MemoryMoment, ExitCode> read_moment_file(const std::string& path, const Environment& environment) {
  auto moment = formats::read_moment_at(path);
  if (moment) return std::move(*moment);
  const std::string words = formats::unread_moment_words(moment.error(), path);
  return tl::unexpected(complain(environment, words, exit_code_of_file(moment.error())));
}

tl::expected<std::string, ExitCode> start_page(serve::PageServer& server, std::uint16_t port,
                                               const Environment& environment) {
  auto address = server.start(port);
  if (address) return std::move(*address);
  const std::string why = std::generic_category().message(address.error().os_error);
  return tl::unexpected(
      complain(environment, fmt::format("nothing can be served at port {}: {}", port, why), ExitCode::output));
}

}  // namespace mixstack::cli
