#include "features/machine/named_programs.h"

#include <fmt/format.h>

#include <set>

#include "base/system/proc_mount.h"
#include "features/machine/not_readable.h"
#include "output/report/escape.h"

namespace mixstack::machine {

std::vector<std::uint32_t> pids_called(const std::string& name, const RunningPrograms& found) {
  std::vector<std::uint32_t> pids;
  for (const RunningProgram& program : found.programs)
    if (program.is_called(name)) pids.push_back(program.pid);
  return pids;
}

std::vector<std::uint32_t> pids_called(const std::string& name) {
  const auto found = running_programs(std::chrono::milliseconds(0));
  return found ? pids_called(name, *found) : std::vector<std::uint32_t>();
}

std::string nobody_called_text(const std::string& name, const RunningPrograms& found) {
  std::set<std::string> others;
  for (const RunningProgram& program : found.programs) others.insert(report::escape_for_terminal(program.comm));
  std::string text = fmt::format("no .NET process is called '{}'", report::escape_for_terminal(name));
  constexpr std::size_t kMostNamed = 12;
  if (!others.empty()) text += "; there are";
  std::size_t named = 0;
  for (const std::string& other : others)
    if (named++ < kMostNamed) text += (named == 1 ? " " : ", ") + other;
  if (others.size() > kMostNamed) text += fmt::format(" and {} others", others.size() - kMostNamed);
  return text + ".\n" + not_readable_text(found);
}

std::string_view no_list_name(const Error& error) {
  return problem_name(error == base::other_pid_namespace_error() ? Problem::foreign_proc : Problem::no_proc);
}

std::string no_list_text(const Error& error) {
  return error == base::other_pid_namespace_error()
             ? "/proc is that of another pid namespace than ours: what it lists cannot be dumped from "
               "here.\n  Use a /proc of our own namespace: nsenter -t PID -p -m mixstack ps, unshare -p -f "
               "--mount-proc ...\n"
             : "/proc could not be read: is a proc file system mounted there?\n";
}

}  // namespace mixstack::machine
