#include "frontends/cli/output.h"

#include <fmt/format.h>

#include <system_error>

#include "frontends/cli/version.h"
#include "mixstack/machine.h"
#include "output/formats/read_any.h"
#include "output/report/core_errors.h"
#include "output/report/escape.h"
#include "output/report/json_fields.h"

namespace mixstack::cli {
namespace {

constexpr std::string_view kOurs = "mixstack: ";

std::string json_message(const MessageName& name, std::string_view words, ExitCode code) {
  return report::collect([&](report::Writer& out) {
    report::JsonObject object(out);
    object.word("format", "mixstack-message");
    object.number("format_version", std::uint64_t{1});
    object.number("exit_code", static_cast<std::uint64_t>(code));
    object.word("code", name.code.empty() ? exit_code_name(code) : name.code);
    object.text_or_null("reason", name.reason);
    object.number("os_error", static_cast<std::uint64_t>(name.os_error));
    object.text_or_null("subject", name.subject);
    object.text("text", words);
    object.close();
    out << '\n';
  });
}

ExitCode exit_code_of_file(const Error& error) {
  return error.code == ErrorCode::not_found           ? ExitCode::no_such_process
         : error.code == ErrorCode::permission_denied ? ExitCode::permission
                                                      : ExitCode::unsupported;
}

}  // namespace

ExitCode complain(const Environment& environment, const MessageName& name, std::string words, ExitCode code) {
  while (words.ends_with('\n')) words.pop_back();
  FdOutput(environment.err)
      .write(environment.json_messages ? json_message(name, words, code) : fmt::format("{}{}\n", kOurs, words));
  return code;
}

void remark(const Environment& environment, const MessageName& name, const std::string& words) {
  if (words.empty()) return;
  std::string_view lines = words;
  if (lines.starts_with(kOurs)) lines.remove_prefix(kOurs.size());
  while (lines.ends_with('\n')) lines.remove_suffix(1);
  FdOutput(environment.err)
      .write(environment.json_messages ? json_message(name, lines, ExitCode::ok) : fmt::format("{}{}\n", kOurs, lines));
}

ExitCode complain(const Environment& environment, const std::string& words, ExitCode code) {
  return complain(environment, MessageName{}, words, code);
}

ExitCode complain(const Environment& environment, const files::NotWritten& why) {
  if (why.why == files::NotWritten::Why::for_terminal)
    return complain(environment, {"not_for_terminal"}, why.words, ExitCode::usage);
  return complain(environment, {"not_written", {}, why.os_error}, why.words, ExitCode::output);
}

ExitCode complain(const Environment& environment, const machine::Refused& refused) {
  return complain(environment, {problem_name(refused.problem), refused.reason, refused.error.os_error}, refused.words,
                  exit_code_of(refused.problem));
}

ExitCode complain_of_core(const Environment& environment, const Error& error, const std::string& path) {
  return complain(environment, {report::core_problem_name(error), {}, error.os_error},
                  report::core_problem_text(error, path), exit_code_of_core(error));
}

ExitCode write_file(const std::string& path, bool is_text, const Environment& environment,
                    const files::WriteOutput& write) {
  const auto written = files::write_output({path, is_text, environment.out}, write);
  return written ? ExitCode::ok : complain(environment, written.error());
}

ExitCode write_answer_to(const std::string& path, const Environment& environment, const files::WriteOutput& write) {
  if (!path.empty() && path != "-") {
    const ExitCode code = write_file(path, true, environment, write);
    if (code == ExitCode::ok) remark(environment, {"wrote", {}, 0, path}, "wrote " + report::escape_for_terminal(path));
    return code;
  }
  const int error = files::write_text_to(environment.out, write);
  return error == 0
             ? ExitCode::ok
             : complain(environment, {"not_written", {}, error},
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
  return tl::unexpected(complain(environment, {"not_served", {}, address.error().os_error},
                                 fmt::format("nothing can be served at port {}: {}", port, why), ExitCode::output));
}

}  // namespace mixstack::cli
