#include "frontends/cli/program.h"

#include <fmt/format.h>

#include "frontends/cli/arguments.h"
#include "frontends/cli/commands.h"
#include "frontends/cli/output.h"
#include "mixstack/shared_images.h"
#include "process/bpf/unstopped_target.h"

namespace mixstack::cli {

Result<std::unique_ptr<Session>> open_unstopped_process(std::uint32_t pid) {
  auto target = bpf::open_unstopped(pid);
  if (!target) return fail(target.error());
  return Session::open(std::move(*target));
}

std::function<Result<std::unique_ptr<Session>>(std::uint32_t pid)> process_opener() {
  return [images = std::make_shared<SharedImages>()](std::uint32_t pid) -> Result<std::unique_ptr<Session>> {
    auto target = bpf::open_live_with_late_look(pid);
    if (!target) return fail(target.error());
    return images->open(std::move(*target));
  };
}

int run_program(std::vector<std::string> arguments, const Environment& environment) {
  const Invocation invocation = parse_arguments(std::move(arguments));
  switch (invocation.action) {
    case Invocation::Action::dump:
      return static_cast<int>(run_dump(invocation.dump, environment));
    case Invocation::Action::agent:
      return static_cast<int>(run_agent(invocation.agent, environment));
    case Invocation::Action::ps:
      return static_cast<int>(run_ps(invocation.ps, environment));
    case Invocation::Action::doctor:
      return static_cast<int>(run_doctor(invocation.doctor, environment));
    case Invocation::Action::symbols:
      return static_cast<int>(run_symbols(invocation.symbols, environment));
    case Invocation::Action::pack:
      return static_cast<int>(run_pack(invocation.pack, environment));
    case Invocation::Action::record:
      return run_record(invocation.record, environment);
    case Invocation::Action::convert:
      return static_cast<int>(run_convert(invocation.convert, environment));
    case Invocation::Action::diff:
      return static_cast<int>(run_diff(invocation.diff, environment));
    case Invocation::Action::view:
      return static_cast<int>(run_view(invocation.view, environment));
    case Invocation::Action::top:
      return static_cast<int>(run_top(invocation.top, environment));
    case Invocation::Action::why:
      return static_cast<int>(run_why(invocation.why, environment));
    case Invocation::Action::memory:
      return static_cast<int>(run_memory(invocation.memory, environment));
    case Invocation::Action::print: {
      FdOutput out(environment.out);
      out.write(invocation.text);
      return static_cast<int>(out.error() == 0 ? ExitCode::ok : ExitCode::output);
    }
    case Invocation::Action::usage_error:
      break;
  }
  return static_cast<int>(complain(environment,
                                   fmt::format("{}\nTry 'mixstack {}{}--help'.", invocation.text, invocation.command,
                                               invocation.command.empty() ? "" : " "),
                                   ExitCode::usage));
}

}  // namespace mixstack::cli
