#include "frontends/cli/ps_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <system_error>

#include "base/system/proc_mount.h"
#include "features/machine/running_programs.h"
#include "frontends/cli/fd_output.h"
#include "frontends/cli/terminal.h"
#include "output/report/escape.h"
#include "output/report/fit.h"
#include "output/report/json_fields.h"
#include "output/report/words.h"

namespace mixstack::cli {
namespace {

using machine::RunningProgram;
using machine::RunningPrograms;

constexpr std::chrono::milliseconds kCpuInterval{200};

std::string command_text(const RunningProgram& program) {
  std::string text;
  for (const std::string& word : program.command_line)
    text += (text.empty() ? "" : " ") + report::escape_for_terminal(word);
  return text.empty() ? "[" + report::escape_for_terminal(program.comm) + "]" : text;
}

/// Columns are as wide as their contents; the last one takes the rest of the terminal.
std::string table_text(const std::vector<std::vector<std::string>>& rows, std::size_t width) {
  constexpr std::size_t kMostInCell = 24;
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows)
    for (std::size_t i = 0; i + 1 < row.size(); i++)
      widths[i] = std::max(widths[i], std::min(report::columns(row[i]), kMostInCell));
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i + 1 < row.size(); i++) {
      const std::string cell = report::shorten_middle(row[i], kMostInCell);
      line += cell + std::string(widths[i] + 2 - std::min(report::columns(cell), widths[i]), ' ');
    }
    const std::size_t taken = report::columns(line);
    line += width == 0 ? row.back() : report::shorten_middle(row.back(), std::max(width, taken + 20) - taken);
    out += line + '\n';
  }
  return out;
}

/// For users other than root only a count: these are other users' processes. For root each is unexpected, so named.
std::string not_readable_text(const RunningPrograms& found) {
  const std::size_t count = found.not_readable.size();
  if (count == 0) return {};
  std::string text = fmt::format("{} process{} could not be looked into", count, count == 1 ? "" : "es");
  if (::geteuid() != 0) return text + ": run as root to see those of other users\n";
  constexpr std::size_t kMostNamed = 5;
  for (std::size_t i = 0; i < std::min(count, kMostNamed); i++) {
    const machine::UnreadableProcess& p = found.not_readable[i];
    text += fmt::format("{}{} ({}, {})", i == 0 ? ": " : ", ", p.pid, report::escape_for_terminal(p.comm),
                        std::generic_category().message(p.os_error));
  }
  if (count > kMostNamed) text += fmt::format(" and {} more", count - kMostNamed);
  return text + fmt::format("\n  mixstack doctor {} says what forbids it\n", found.not_readable.front().pid);
}

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

std::string text_of(const RunningPrograms& found, std::size_t width) {
  std::string out;
  if (found.programs.empty()) {
    out = "no .NET process\n";
  } else {
    std::vector<std::vector<std::string>> rows{
        {"PID", "RUNTIME", "HOSTING", "USER", "CONTAINER", "THREADS", "CPU", "UP", "COMMAND"}};
    for (const RunningProgram& p : found.programs)
      rows.push_back({std::to_string(p.pid), p.version.empty() ? "?" : report::escape_for_terminal(p.version),
                      std::string(machine::hosting_name(p.hosting)),
                      p.user.empty() ? std::to_string(p.uid) : report::escape_for_terminal(p.user),
                      p.container.empty() ? "-" : p.container, std::to_string(p.threads),
                      fmt::format("{:.0f}%", p.cpu_percent), report::age_words(p.uptime), command_text(p)});
    out = table_text(rows, width);
  }
  return out + not_readable_text(found);
}

/// Malformed UTF-8 becomes U+FFFD.
void write_program(report::Writer& out, const RunningProgram& p) {
  report::JsonObject one(out);
  one.number("pid", std::uint64_t{p.pid});
  one.text_or_null("runtime", p.version);
  one.word("hosting", machine::hosting_name(p.hosting));
  one.number("uid", std::uint64_t{p.uid});
  one.text_or_null("user", p.user);
  one.text_or_null("container", p.container);
  one.number("threads", std::uint64_t{p.threads});
  one.key("cpu_percent") << fmt::format("{:.1f}", p.cpu_percent);
  one.key("cpu_seconds") << fmt::format("{:.2f}", p.cpu_seconds);
  one.number("uptime_seconds", std::int64_t{p.uptime.count()});
  one.text("name", p.comm);
  one.text("executable", p.executable);
  one.key("command_line");
  report::json_array(out, p.command_line, "", [&](const std::string& word) { out << report::json_string(word); });
  one.close();
}

std::string json_of(const RunningPrograms& found) {
  return report::collect([&](report::Writer& out) {
    report::JsonObject document(out);
    document.word("format", "mixstack-ps");
    document.number("format_version", std::uint64_t{1});
    document.key("processes");
    report::json_array(out, found.programs, "\n ", [&](const RunningProgram& p) { write_program(out, p); });
    document.number("not_readable", std::uint64_t{found.not_readable.size()});
    document.close();
    out << '\n';
  });
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
  auto found = machine::running_programs(arguments.quick ? std::chrono::milliseconds(0) : kCpuInterval);
  if (!found) return complain(environment, found.error());
  if (!arguments.name.empty())
    std::erase_if(found->programs, [&](const RunningProgram& p) { return !p.is_called(arguments.name); });
  FdOutput out(environment.out);
  const std::size_t width = arguments.wide ? 0 : terminal_size(environment.out).columns;
  out.write(arguments.json ? json_of(*found) : arguments.quick ? quick_text_of(*found) : text_of(*found, width));
  if (out.error() != 0) return ExitCode::output;
  return found->programs.empty() && !arguments.name.empty() ? ExitCode::no_such_process : ExitCode::ok;
}

tl::expected<std::vector<std::uint32_t>, ExitCode> pids_called(const std::string& name,
                                                               const Environment& environment) {
  std::vector<std::uint32_t> pids;
  const auto found = machine::running_programs(std::chrono::milliseconds(0));
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
  FdOutput(environment.err).write(text + ".\n" + not_readable_text(*found));
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
