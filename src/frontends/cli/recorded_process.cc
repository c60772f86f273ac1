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

namespace {

ExitCode complain_with(const std::vector<std::string>& notes, const Environment& environment, const Error& error,
                       std::uint32_t pid) {
  report::RefusalFacts facts = machine::read_refusal_facts(pid);
  facts.capabilities = machine::kRecordCapabilities;
  facts.enough_files = record::enough_files(record::threads_of(pid));
  const report::Problem problem = report::problem_of(error, facts);
  std::string words = report::problem_text(problem, error, facts);
  for (const std::string& note : notes) words += "  " + report::escape_for_terminal(note) + "\n";
  return complain(environment, {problem_name(problem), report::problem_reason(problem, error, facts), error.os_error},
                  words, exit_code_of(problem));
}

}  // namespace

ExitCode complain_of(const Environment& environment, const Error& error, std::uint32_t pid) {
  return complain_with({}, environment, error, pid);
}

ExitCode complain_of(const Environment& environment, const record::NotOpened& fault, std::uint32_t pid) {
  if (!fault.is_without_stops) return complain_with(fault.notes, environment, fault.error, pid);
  std::string text = fmt::format("pid {} ({}): nothing that shows stacks without a stop is allowed here.\n", pid,
                                 record::name_of(pid));
  for (const std::string& note : fault.notes) text += "  " + report::escape_for_terminal(note) + "\n";
  return complain(environment, {"nothing_without_stop"},
                  text + "  Or leave out --no-stop: threads are then stopped for a moment.", ExitCode::permission);
}

}  // namespace mixstack::cli
