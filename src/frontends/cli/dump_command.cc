// Input: DumpArguments: processes by PID or name, or a core; options; the Environment that opens them.
// Output: a report for each on standard output, errors and remedies on standard error, an exit code.
// Algorithm: 1. Warn of folders of the symbol path that do not exist. 2. Resolve --name to PIDs. 3. Dump each
// (targets.cc). 4. Print, through a pager at a terminal, then name absent threads.
// The first failure is the exit code; the other processes are still dumped.
// Bounds: DumpOptions limit frames and times; ReportOptions::width cuts lines at a terminal.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>

#include "frontends/cli/commands.h"
#include "frontends/cli/heap_question.h"
#include "frontends/cli/output.h"
#include "frontends/cli/targets.h"
#include "frontends/cli/terminal.h"
#include "output/report/escape.h"
#include "output/report/json.h"
#include "output/report/summary.h"
#include "output/report/text.h"

namespace mixstack::cli {

namespace {

report::ReportOptions report_options(const DumpArguments& arguments, const Environment& environment) {
  report::ReportOptions options = arguments.shown;
  options.registers = arguments.options.walk.keep_registers;
  options.explain = arguments.options.walk.explain;
  options.arguments = arguments.options.arguments;
  // Threads selected by TID are always shown.
  options.all = options.all || !arguments.options.threads.empty();
  options.color = wants_color(arguments.color, environment.out);
  return options;
}

/// Writes the report; returns errno, 0: success.
int write_report(const DumpArguments& arguments, const Environment& environment, const ProcessDump& dump,
                 std::span<const RuntimeCounters> counters) {
  report::ReportOptions options = report_options(arguments, environment);
  const TerminalSize terminal = terminal_size(environment.out);
  std::optional<Pager> pager;
  if (terminal.columns != 0 && !arguments.json && !arguments.no_pager)
    pager.emplace(environment.search_path, environment.out);
  if (!arguments.wide) options.width = terminal.columns;
  FdOutput out(pager ? pager->fd() : environment.out);
  report::Writer writer([&out](std::string_view piece) { out.write(piece); });
  arguments.json ? report::write_json(writer, dump, options, counters) : report::write_text(writer, dump, options);
  writer.flush();
  return pager && pager->is_running() && out.error() == EPIPE ? 0 : out.error();
}

ExitCode print(const DumpArguments& arguments, const Environment& environment, const ProcessDump& dump,
               std::span<const RuntimeCounters> counters) {
  if (const int error = write_report(arguments, environment, dump, counters); error != 0) {
    return complain(environment, {"not_written", {}, error},
                    fmt::format("the report could not be written: {}", std::generic_category().message(error)),
                    ExitCode::output);
  }
  const auto absent = report::absent_threads(dump, arguments.options.threads);
  for (const ThreadId tid : absent)
    (void)complain(environment, {"no_such_thread"}, fmt::format("process {} has no thread {}", dump.target.pid, tid),
                   ExitCode::partial);
  return absent.empty() && !report::is_partial(report::summarize(dump)) ? ExitCode::ok : ExitCode::partial;
}

/// Counters of the dump's runtimes; none where they cannot be told apart.
std::vector<RuntimeCounters> read_counters(const DumpedTarget& dumped) {
  auto counters = dumped.session->counters();
  if (!counters || counters->size() != dumped.dump.runtimes.size()) return {};
  return std::move(*counters);
}

ExitCode run_one(DumpArguments arguments, const Environment& environment) {
  arguments.options.waits = true;
  arguments.options.pending_work = arguments.async;
  if (arguments.heap) arguments.options.heap = heap_question(arguments.pid != 0, arguments.heap_limit, environment);
  auto dumped = dump_target(arguments, symbol_options(arguments), environment);
  if (!dumped) return dumped.error();
  // Without --async, known waits are shown, but not the reasons why others are unknown.
  if (!arguments.async)
    std::erase_if(dumped->dump.diagnoses, [](const Diagnosis& d) { return d.subject == kWaitsSubject; });
  std::vector<RuntimeCounters> counters;
  if (arguments.json) counters = read_counters(*dumped);
  return print(arguments, environment, dumped->dump, counters);
}

}  // namespace

ExitCode run_dump(const DumpArguments& arguments, const Environment& environment) {
  warn_of_missing_folders(symbol_options(arguments), environment);
  if (!arguments.core.path.empty() || !arguments.stored_core.empty()) return run_one(arguments, environment);
  std::vector<std::uint32_t> pids = arguments.more_pids;
  if (!arguments.name.empty()) {
    const auto called = pids_called(arguments.name, environment);
    if (!called) return called.error();
    pids = *called;
    if (pids.size() > 1 && !arguments.options.threads.empty()) {
      return complain(environment,
                      fmt::format("{} processes are called '{}' ({}); --thread is for one: give its pid", pids.size(),
                                  report::escape_for_terminal(arguments.name), fmt::join(pids, ", ")),
                      ExitCode::usage);
    }
  } else {
    pids.insert(pids.begin(), arguments.pid);
  }
  ExitCode first_failure = ExitCode::ok;
  DumpArguments one = arguments;
  for (const std::uint32_t pid : pids) {
    if (pid != pids.front() && !arguments.json) FdOutput(environment.out).write("\n");
    one.pid = pid;
    one.no_pager = arguments.no_pager || pids.size() > 1;
    if (const ExitCode code = run_one(one, environment); first_failure == ExitCode::ok) first_failure = code;
  }
  return first_failure;
}

}  // namespace mixstack::cli
