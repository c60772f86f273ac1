#include "frontends/cli/output.h"

#include <fmt/format.h>

#include <system_error>

#include "mixstack/machine.h"
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

}  // namespace

ExitCode complain(const Environment& environment, const MessageName& name, std::string words, ExitCode code) {
  while (words.ends_with('\n')) words.pop_back();
  FdOutput(environment.err)
      .write(environment.json_messages ? json_message(name, words, code) : fmt::format("{}{}\n", kOurs, words));
  return code;
}

void remark(const Environment& environment, const MessageName& name, const std::string& lines) {
  if (lines.empty()) return;
  std::string_view words = lines;
  if (words.starts_with(kOurs)) words.remove_prefix(kOurs.size());
  while (words.ends_with('\n')) words.remove_suffix(1);
  FdOutput(environment.err).write(environment.json_messages ? json_message(name, words, ExitCode::ok) : lines);
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
    if (code == ExitCode::ok)
      remark(environment, {"wrote", {}, 0, path},
             fmt::format("mixstack: wrote {}\n", report::escape_for_terminal(path)));
    return code;
  }
  const int error = files::write_text_to(environment.out, write);
  return error == 0
             ? ExitCode::ok
             : complain(environment, {"not_written", {}, error},
                        fmt::format("the answer could not be written: {}", std::generic_category().message(error)),
                        ExitCode::output);
}

}  // namespace mixstack::cli
