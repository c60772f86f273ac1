// Input: DumpArguments: processes by PID or name, or a core; options; the Environment that opens them.
// Output: a report for each on standard output, errors and remedies on standard error, an exit code.
// Algorithm: 1. Warn of folders of the symbol path that do not exist. 2. Resolve --name to PIDs.
// 3. `dump_process`: read facts from /proc first, since they explain a refusal that can be foreseen (thread, zombie,
// kernel thread); open the session; set options before the dump; on an error read the facts again to find its cause.
// `dump_core`: find a stored core, announce a wait for a FIFO, open, dump.
// 4. Print, through a pager at a terminal, then name absent threads.
// The first failure is the exit code; the other processes are still dumped.
// Bounds: DumpOptions limit frames and times; ReportOptions::width cuts lines at a terminal.
#include "frontends/cli/dump_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>

#include "features/machine/explained_opening.h"
#include "frontends/cli/heap_question.h"
#include "frontends/cli/output.h"
#include "frontends/cli/ps_command.h"
#include "frontends/cli/symbol_options.h"
#include "frontends/cli/terminal.h"
#include "output/report/core_errors.h"
#include "output/report/escape.h"
#include "output/report/json.h"
#include "output/report/summary.h"
#include "output/report/text.h"
#include "process/bpf/bpf_refusal.h"
#include "process/core/core_store.h"

namespace mixstack::cli {

namespace {

report::ReportOptions report_options(const DumpArguments& arguments, const Environment& environment) {
  report::ReportOptions options;
  options.managed_only = arguments.managed_only;
  options.raw_names = arguments.raw_names;
  options.fold = !arguments.no_fold;
  options.registers = arguments.options.walk.keep_registers;
  options.explain = arguments.options.walk.explain;
  options.arguments = arguments.options.arguments;
  options.merge = arguments.merge;
  options.tree = arguments.tree;
  // Threads selected by TID are always shown.
  options.all = arguments.all || !arguments.options.threads.empty();
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

/// Sets options other than the defaults, since runtimes are then read again.
void apply(const RuntimeOptions& options, Session& session) {
  if (options.provider != ManagedProvider::automatic || !options.dac_path.empty() || !options.lines)
    session.set_runtime_options(options);
}

/// Opening a FIFO blocks until it has a writer: say so, or it looks like a hang. Pipes of a shell, <(...), have one.
void announce_wait(const std::string& path, const Environment& environment) {
  struct stat st {};
  const bool is_shells = path == "-" || path.starts_with("/dev/fd/") || path.starts_with("/proc/");
  if (is_shells || ::stat(path.c_str(), &st) != 0 || !S_ISFIFO(st.st_mode)) return;
  remark(environment, {"waits_for_writer", {}, 0, path},
         fmt::format("mixstack: waiting for a writer of {}\n", report::escape_for_terminal(path)));
}

tl::expected<OpenedTarget, ExitCode> open_core(const DumpArguments& arguments, const SymbolOptions& symbols,
                                               const Environment& environment) {
  CoreOptions options = arguments.core;
  std::shared_ptr<process::StoredCore> stored;  // keeps a core out of the journal open
  if (!arguments.stored_core.empty()) {
    process::CoreStoreOptions store;
    store.search_path = environment.search_path;
    auto found = process::find_stored_core(arguments.stored_core, store);
    if (!found) {
      return tl::unexpected(complain(environment, fmt::format("{}: {}", found.error().subject, found.error().text),
                                     exit_code_of_core(found.error().error)));
    }
    stored = std::make_shared<process::StoredCore>(std::move(*found));
    options.path = stored->path;
  }
  options.symbols = symbols;
  const auto complain = [&environment, stored, path = options.path](const Error& error) {
    return complain_of_core(environment, error, path);
  };
  announce_wait(options.path, environment);
  auto session = environment.open_core(options);
  if (!session) return tl::unexpected(complain(session.error()));
  apply(arguments.runtime, **session);
  return OpenedTarget{std::move(*session), complain};
}

/// Nothing: the error is not one of BPF.
std::optional<ExitCode> complain_of_bpf(const Error& error, const Environment& environment) {
  const bpf::BpfRefusal refusal = bpf::explain_bpf_refusal(error);
  if (refusal == bpf::BpfRefusal::none) return std::nullopt;
  const ExitCode code = refusal == bpf::BpfRefusal::memory           ? ExitCode::resources
                        : error.code == ErrorCode::permission_denied ? ExitCode::permission
                                                                     : ExitCode::unsupported;
  return complain(environment, {"no_bpf", bpf::refusal_name(refusal), error.os_error},
                  bpf::refusal_text(refusal, error), code);
}

tl::expected<OpenedTarget, ExitCode> open_process(const DumpArguments& arguments, const SymbolOptions& symbols,
                                                  const Environment& environment) {
  auto opened =
      machine::open_explained(arguments.pid, arguments.no_stop ? environment.open_unstopped : environment.open_process);
  if (!opened) {
    const Error& error = opened.error().error;
    if (arguments.no_stop && error.code != ErrorCode::none)
      if (const auto code = complain_of_bpf(error, environment)) return tl::unexpected(*code);
    return tl::unexpected(complain(environment, opened.error()));
  }
  apply(arguments.runtime, *opened->session);
  opened->session->set_symbol_options(symbols);
  return OpenedTarget{std::move(opened->session),
                      [&environment, explain = std::move(opened->explain)](const Error& error) {
                        return complain(environment, explain(error));
                      }};
}

}  // namespace

tl::expected<OpenedTarget, ExitCode> open_target(const DumpArguments& arguments, const SymbolOptions& symbols,
                                                 const Environment& environment) {
  const bool is_core = !arguments.core.path.empty() || !arguments.stored_core.empty();
  return is_core ? open_core(arguments, symbols, environment) : open_process(arguments, symbols, environment);
}

tl::expected<DumpedTarget, ExitCode> dump_target(const DumpArguments& arguments, const SymbolOptions& symbols,
                                                 const Environment& environment) {
  auto opened = open_target(arguments, symbols, environment);
  if (!opened) return tl::unexpected(opened.error());
  auto dump = opened->session->dump(arguments.options);
  if (!dump) return tl::unexpected(opened->complain(dump.error()));
  return DumpedTarget{std::move(opened->session), std::move(*dump)};
}

namespace {

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
