#include "frontends/cli/recorded_process.h"

#include <fmt/format.h>

#include "features/machine/refusal_facts.h"
#include "features/record/recorded_facts.h"
#include "frontends/cli/dump_command.h"
#include "frontends/cli/output.h"
#include "mixstack/machine.h"
#include "output/report/errors.h"
#include "output/report/escape.h"

namespace mixstack::cli {

record::RecordingsOptions recordings_options(const RecordArguments& arguments, const Environment& environment) {
  record::RecordingsOptions options;
  options.recorder = recorder_options(arguments);
  options.native_names = !arguments.no_names;
  options.subprocesses = arguments.subprocesses;
  options.has_launched = !arguments.command.empty();
  options.keeps_pieces = !arguments.push.empty();
  options.open_process = environment.open_process;
  return options;
}

record::RecorderOptions recorder_options(const RecordArguments& arguments) {
  record::RecorderOptions options;
  options.want = record::want_of(arguments.mode);
  options.hertz = arguments.hertz;
  options.most_held = arguments.most_held;
  options.may_stop = !arguments.no_stop;
  options.kernel = arguments.kernel;
  options.stacks.async_callers = arguments.async_callers;
  return options;
}

ExitCode complain_of(const Environment& environment, const Error& error, std::uint32_t pid) {
  report::RefusalFacts facts = machine::read_refusal_facts(pid);
  facts.capabilities = machine::kRecordCapabilities;
  facts.enough_files = record::enough_files(record::threads_of(pid));
  const report::Problem problem = report::problem_of(error, facts);
  FdOutput(environment.err).write("mixstack: " + report::problem_text(problem, error, facts));
  return exit_code_of(problem);
}

ExitCode complain_of(const Environment& environment, const record::NotOpened& fault, std::uint32_t pid) {
  if (!fault.is_without_stops) {
    const ExitCode code = complain_of(environment, fault.error, pid);
    for (const std::string& note : fault.notes)
      FdOutput(environment.err).write("  " + report::escape_for_terminal(note) + "\n");
    return code;
  }
  std::string text = fmt::format("mixstack: pid {} ({}): nothing that shows stacks without a stop is allowed here.\n",
                                 pid, record::name_of(pid));
  for (const std::string& note : fault.notes) text += "  " + report::escape_for_terminal(note) + "\n";
  FdOutput(environment.err).write(text + "  Or leave out --no-stop: threads are then stopped for a moment.\n");
  return ExitCode::permission;
}

}  // namespace mixstack::cli
