#include "frontends/cli/recorded_process.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sstream>

#include "base/system/small_file.h"
#include "features/machine/running_programs.h"
#include "frontends/cli/dump_command.h"
#include "frontends/cli/fd_output.h"
#include "frontends/cli/refusal_facts.h"
#include "output/report/errors.h"
#include "output/report/escape.h"
#include "process/live/proc_files.h"

namespace mixstack::cli {

record::RecorderOptions recorder_options(const RecordArguments& arguments) {
  record::RecorderOptions options;
  options.want = arguments.mode == RecordMode::cpu ? record::Want::cpu : record::Want::wall;
  options.hertz = arguments.hertz;
  options.most_held = arguments.most_held;
  options.may_stop = !arguments.no_stop;
  options.kernel = arguments.kernel;
  options.stacks.async_callers = arguments.async_callers;
  return options;
}

ExitCode complain_of(const Environment& environment, const Error& error, std::uint32_t pid) {
  report::RefusalFacts facts = read_refusal_facts(pid);
  facts.capabilities = kRecordCapabilities;
  facts.enough_files = record::enough_files(threads_of(pid));
  const report::Problem problem = report::problem_of(error, facts);
  FdOutput(environment.err).write("mixstack: " + report::problem_text(problem, error, facts));
  return exit_code_of(problem);
}

ExitCode complain_of(const Environment& environment, const record::NotOpened& fault, std::uint32_t pid) {
  if (!fault.is_without_stops) return complain_of(environment, fault.error, pid);
  std::string text = fmt::format("mixstack: pid {} ({}): nothing that shows stacks without a stop is allowed here.\n",
                                 pid, name_of(pid));
  for (const std::string& note : fault.notes) text += "  " + report::escape_for_terminal(note) + "\n";
  FdOutput(environment.err).write(text + "  Or leave out --no-stop: threads are then stopped for a moment.\n");
  return ExitCode::permission;
}

std::size_t threads_of(std::uint32_t pid) {
  struct stat facts {};
  const bool is_there = ::stat(fmt::format("/proc/{}/task", pid).c_str(), &facts) == 0;
  return is_there && facts.st_nlink > 2 ? facts.st_nlink - 2 : 0;
}

bool has_gone(const Error& error, std::uint32_t pid) {
  const report::Problem problem = report::problem_of(error, read_refusal_facts(pid));
  return problem == report::Problem::no_such_process || problem == report::Problem::zombie ||
         problem == report::Problem::process_changed;
}

bool is_thread(std::uint32_t pid) {
  const report::RefusalFacts facts = read_refusal_facts(pid);
  return facts.exists && facts.thread_group != 0 && facts.thread_group != facts.pid;
}

std::vector<std::uint32_t> pids_called(const std::string& name) {
  std::vector<std::uint32_t> pids;
  const auto all = machine::running_programs(std::chrono::milliseconds(0));
  for (const machine::RunningProgram& program : all ? all->programs : std::vector<machine::RunningProgram>())
    if (program.is_called(name)) pids.push_back(program.pid);
  return pids;
}

std::string command_of(const TargetInfo& target) {
  std::string text;
  for (const std::string& word : target.command_line)
    text += (text.empty() ? "" : " ") + report::escape_for_terminal(word.substr(0, 1024));
  return text.substr(0, 1024);
}

/// "app" for "dotnet exec app.dll --port=80"; empty: the command line names no assembly.
std::string hosted_name(std::uint32_t pid) {
  const std::string text = base::text_at(fmt::format("/proc/{}/cmdline", pid), 1).substr(0, 4096);
  for (std::size_t at = text.find('\0'); at != std::string::npos; at = text.find('\0', at + 1)) {
    std::string_view word = std::string_view(text).substr(at + 1);
    word = word.substr(0, word.find('\0'));
    if (!word.ends_with(".dll")) continue;
    word = word.substr(word.rfind('/') + 1);
    return std::string(word.substr(0, word.size() - 4));
  }
  return {};
}

std::string name_of(std::uint32_t pid) {
  std::string name = process::comm_of(pid);
  // All programs run by the host `dotnet` have its comm.
  if (name == "dotnet")
    if (std::string app = hosted_name(pid); !app.empty()) name = std::move(app);
  return report::escape_for_terminal(name);
}

std::optional<std::uint64_t> user_cpu_ns(std::uint32_t pid) {
  const std::string line = base::text_at(fmt::format("/proc/{}/stat", pid), 1);
  const std::size_t name_end = line.rfind(") ");  // a name may hold any bytes
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(name_end + 2));
  std::string skipped;
  for (int field = 3; field < 14; field++) fields >> skipped;  // utime is the 14th (proc(5))
  std::uint64_t ticks = 0;
  const long in_second = ::sysconf(_SC_CLK_TCK);
  if (!(fields >> ticks) || in_second <= 0) return std::nullopt;
  return ticks * (1'000'000'000u / static_cast<std::uint64_t>(in_second));
}

std::uint64_t own_cpu_ns() {
  rusage usage{};
  (void)::getrusage(RUSAGE_SELF, &usage);
  const auto ns = [](const timeval& t) {
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_usec) * 1000u;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

}  // namespace mixstack::cli
