#include "frontends/cli/ps_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "features/machine/named_programs.h"
#include "frontends/cli/output.h"
#include "frontends/cli/terminal.h"
#include "mixstack/machine.h"
#include "output/report/escape.h"

namespace mixstack::cli {
namespace {

constexpr std::chrono::milliseconds kCpuInterval{200};

ExitCode complain_of_list(const Environment& environment, const Error& error) {
  return complain(environment, {machine::no_list_name(error), {}, error.os_error}, machine::no_list_text(error),
                  ExitCode::resources);
}

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

tl::expected<std::vector<std::uint32_t>, ExitCode> pids_called(const std::string& name,
                                                               const Environment& environment) {
  const auto found = running_programs(std::chrono::milliseconds(0));
  if (!found) return tl::unexpected(complain_of_list(environment, found.error()));
  auto pids = machine::pids_called(name, *found);
  if (!pids.empty()) return pids;
  return tl::unexpected(complain(environment, machine::nobody_called_text(name, *found), ExitCode::no_such_process));
}

tl::expected<std::uint32_t, ExitCode> pid_called(const std::string& name, const Environment& environment) {
  const auto pids = pids_called(name, environment);
  if (!pids) return tl::unexpected(pids.error());
  if (pids->size() == 1) return pids->front();
  const std::string words = fmt::format("{} processes are called '{}' ({}): give the pid of one", pids->size(),
                                        report::escape_for_terminal(name), fmt::join(*pids, ", "));
  return tl::unexpected(complain(environment, words, ExitCode::usage));
}

}  // namespace mixstack::cli
