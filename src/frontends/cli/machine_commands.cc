// `mixstack ps` and `mixstack doctor`: what runs on this machine, and what could be looked at.
#include <fmt/format.h>

#include <chrono>
#include <vector>

#include "frontends/cli/commands.h"
#include "frontends/cli/output.h"
#include "frontends/cli/targets.h"
#include "frontends/cli/terminal.h"
#include "mixstack/machine.h"
#include "output/report/escape.h"

namespace mixstack::cli {
namespace {

constexpr std::chrono::milliseconds kCpuInterval{200};

/// Lines like "4711 orders".
std::string quick_text_of(const RunningPrograms& found) {
  std::string out;
  for (const RunningProgram& p : found.programs)
    out += fmt::format("{} {}\n", p.pid, report::escape_for_terminal(p.comm));
  return out;
}

}  // namespace

ExitCode run_ps(const PsArguments& arguments, const Environment& environment) {
  auto found = running_programs(arguments.quick ? std::chrono::milliseconds(0) : kCpuInterval);
  if (!found) return complain_of_list(environment, found.error());
  if (!arguments.name.empty())
    std::erase_if(found->programs, [&](const RunningProgram& p) { return !p.is_called(arguments.name); });
  FdOutput out(environment.out);
  const std::size_t width = arguments.wide ? 0 : terminal_size(environment.out).columns;
  const ReportSink sink = [&out](std::string_view piece) { out.write(piece); };
  if (arguments.quick && !arguments.json) {
    out.write(quick_text_of(*found));
  } else {
    arguments.json ? write_json(*found, sink) : write_text(*found, sink, width);
  }
  if (out.error() != 0) return ExitCode::output;
  return found->programs.empty() && !arguments.name.empty() ? ExitCode::no_such_process : ExitCode::ok;
}

ExitCode run_doctor(const DoctorArguments& arguments, const Environment& environment) {
  const Examination examination = examine(arguments.pid);
  FdOutput out(environment.out);
  const ReportSink sink = [&out](std::string_view piece) { out.write(piece); };
  arguments.json ? write_json(examination, sink) : write_text(examination, sink);
  if (out.error() != 0) return ExitCode::output;
  return examination.dump ? ExitCode::ok : exit_code_of(examination.problem);
}

}  // namespace mixstack::cli
