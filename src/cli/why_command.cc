#include "cli/why_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <thread>

#include "cli/dump_command.h"
#include "cli/fd_output.h"
#include "cli/ps_command.h"
#include "cli/symbol_options.h"
#include "report/escape.h"
#include "report/why.h"
#include "why/judge.h"

namespace mixstack::cli {
namespace {

DumpArguments dump_arguments(const WhyArguments& why) {
  DumpArguments dump;
  dump.pid = why.pid;
  dump.core = why.core;
  dump.options.waits = true;
  return dump;
}

ExitCode answer(const WhyArguments& arguments, const Environment& environment) {
  const DumpArguments what = dump_arguments(arguments);
  const auto dumped = dump_target(what, symbol_options(what), environment);
  if (!dumped) return dumped.error();
  const auto verdicts = why::judge(dumped->dump);
  FdOutput out(environment.out);
  report::Writer writer([&out](std::string_view piece) { out.write(piece); });
  report::ReportOptions options;
  options.color = wants_color(ColorMode::automatic, environment.out);
  if (arguments.json) {
    report::write_why_json(writer, dumped->dump, verdicts);
  } else if (arguments.dot) {
    report::write_why_dot(writer, dumped->dump, verdicts);
  } else {
    report::write_why_text(writer, dumped->dump, verdicts, options);
  }
  writer.flush();
  if (out.error() != 0) return ExitCode::output;
  return verdicts.empty() ? ExitCode::ok : ExitCode::stuck;
}

}  // namespace

ExitCode run_why(const WhyArguments& arguments, const Environment& environment) {
  WhyArguments of = arguments;
  if (!of.name.empty()) {
    const auto pids = pids_called(of.name, environment);
    if (!pids) return pids.error();
    if (pids->size() != 1) {
      FdOutput(environment.err)
          .write(fmt::format("mixstack: {} processes are called '{}' ({}): give the pid of one\n", pids->size(),
                             report::escape_for_terminal(of.name), fmt::join(*pids, ", ")));
      return ExitCode::usage;
    }
    of.pid = pids->front();
  }
  ExitCode code = answer(of, environment);
  while (of.watch.count() != 0 && (code == ExitCode::ok || code == ExitCode::stuck)) {
    std::this_thread::sleep_for(of.watch);
    FdOutput(environment.out).write("\n");
    code = answer(of, environment);
  }
  return code;
}

}  // namespace mixstack::cli
