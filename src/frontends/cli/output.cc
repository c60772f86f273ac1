#include "frontends/cli/output.h"

#include <fmt/format.h>

#include <system_error>

#include "output/report/escape.h"

namespace mixstack::cli {

ExitCode complain(const Environment& environment, const std::string& words, ExitCode code) {
  FdOutput(environment.err).write("mixstack: " + words + "\n");
  return code;
}

ExitCode complain(const Environment& environment, const files::NotWritten& why) {
  return complain(environment, why.words,
                  why.why == files::NotWritten::Why::for_terminal ? ExitCode::usage : ExitCode::output);
}

ExitCode complain(const Environment& environment, const machine::Refused& refused) {
  FdOutput(environment.err).write("mixstack: " + refused.words);
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
    if (code == ExitCode::ok)
      FdOutput(environment.err).write(fmt::format("mixstack: wrote {}\n", report::escape_for_terminal(path)));
    return code;
  }
  const int error = files::write_text_to(environment.out, write);
  return error == 0
             ? ExitCode::ok
             : complain(environment,
                        fmt::format("the answer could not be written: {}", std::generic_category().message(error)),
                        ExitCode::output);
}

}  // namespace mixstack::cli
