#include "frontends/cli/ps_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "base/system/proc_mount.h"
#include "features/machine/not_readable.h"
#include "frontends/cli/fd_output.h"
#include "frontends/cli/terminal.h"
#include "mixstack/machine.h"
#include "output/report/escape.h"

namespace mixstack::cli {
namespace {

constexpr std::chrono::milliseconds kCpuInterval{200};

/// Reports why there is no list.
ExitCode complain(const Environment& environment, const Error& error) {
  FdOutput(environment.err)
      .write(error == base::other_pid_namespace_error()
                 ? "mixstack: /proc is that of another pid namespace than ours: what it lists cannot be dumped from "
                   "here.\n  Use a /proc of our own namespace: nsenter -t PID -p -m mixstack ps, unshare -p -f "
                   "--mount-proc ...\n"
                 : "mixstack: /proc could not be read: is a proc file system mounted there?\n");
  return ExitCode::resources;
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
  if (!found) return complain(environment, found.error());
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
  std::vector<std::uint32_t> pids;
  const auto found = running_programs(std::chrono::milliseconds(0));
  if (!found) return tl::unexpected(complain(environment, found.error()));
  std::set<std::string> others;
  for (const RunningProgram& p : found->programs) {
    if (p.is_called(name)) {
      pids.push_back(p.pid);
    } else {
      others.insert(report::escape_for_terminal(p.comm));
    }
  }
  if (!pids.empty()) return pids;
  std::string text = fmt::format("mixstack: no .NET process is called '{}'", report::escape_for_terminal(name));
  constexpr std::size_t kMostNamed = 12;
  if (!others.empty()) text += "; there are";
  std::size_t named = 0;
  for (const std::string& other : others)
    if (named++ < kMostNamed) text += (named == 1 ? " " : ", ") + other;
  if (others.size() > kMostNamed) text += fmt::format(" and {} others", others.size() - kMostNamed);
  FdOutput(environment.err).write(text + ".\n" + machine::not_readable_text(*found));
  return tl::unexpected(ExitCode::no_such_process);
}

tl::expected<std::uint32_t, ExitCode> pid_called(const std::string& name, const Environment& environment) {
  const auto pids = pids_called(name, environment);
  if (!pids) return tl::unexpected(pids.error());
  if (pids->size() == 1) return pids->front();
  FdOutput(environment.err)
      .write(fmt::format("mixstack: {} processes are called '{}' ({}): give the pid of one\n", pids->size(),
                         report::escape_for_terminal(name), fmt::join(*pids, ", ")));
  return tl::unexpected(ExitCode::usage);
}

}  // namespace mixstack::cli
