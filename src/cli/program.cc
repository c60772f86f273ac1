#include "cli/program.h"

#include <fmt/format.h>

#include "cli/agent_command.h"
#include "cli/arguments.h"
#include "cli/dump_command.h"
#include "cli/fd_output.h"

namespace mixstack::cli {

int run_program(std::vector<std::string> arguments, const Environment& environment) {
  const Invocation invocation = parse_arguments(std::move(arguments));
  FdOutput errors(environment.err);
  switch (invocation.action) {
    case Invocation::Action::dump:
      return static_cast<int>(run_dump(invocation.dump, environment));
    case Invocation::Action::agent:
      return static_cast<int>(run_agent(invocation.agent, environment));
    case Invocation::Action::print: {
      FdOutput out(environment.out);
      out.write(invocation.text);
      return static_cast<int>(out.error() == 0 ? ExitCode::ok : ExitCode::output);
    }
    case Invocation::Action::usage_error:
      break;
  }
  errors.write(fmt::format("mixstack: {}\nTry 'mixstack --help'.\n", invocation.text));
  return static_cast<int>(ExitCode::usage);
}

}  // namespace mixstack::cli
