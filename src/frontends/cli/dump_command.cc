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

#include "features/machine/refusal_facts.h"
#include "frontends/cli/fd_output.h"
#include "frontends/cli/heap_question.h"
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
#include "process/live/ptrace_refusal.h"

namespace mixstack::cli {

/// The conventions of terminals: https://no-color.org, TERM=dumb.
bool wants_color(ColorMode mode, int fd) {
  if (mode != ColorMode::automatic) return mode == ColorMode::always;
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* terminal = std::getenv("TERM");
  return isatty(fd) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

namespace {

ExitCode complain(const Environment& environment, report::Problem problem, const Error& error,
                  const report::RefusalFacts& facts) {
  FdOutput(environment.err).write("mixstack: " + report::problem_text(problem, error, facts));
  return exit_code_of(problem);
}

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

/// Threads that were asked for by id and are not in the dump.
std::vector<ThreadId> absent_threads(const DumpArguments& arguments, const ProcessDump& dump) {
  std::vector<ThreadId> absent;
  for (const ThreadId tid : arguments.options.threads) {
    const auto same = [tid](const ThreadDump& t) { return t.tid == tid; };
    const auto found = std::find_if(dump.threads.begin(), dump.threads.end(), same);
    if (found == dump.threads.end() || found->capture_error.code == ErrorCode::no_such_thread) absent.push_back(tid);
  }
  return absent;
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
  FdOutput errors(environment.err);
  if (const int error = write_report(arguments, environment, dump, counters); error != 0) {
    errors.write(
        fmt::format("mixstack: the report could not be written: {}\n", std::generic_category().message(error)));
    return ExitCode::output;
  }
  const auto absent = absent_threads(arguments, dump);
  for (const ThreadId tid : absent)
    errors.write(fmt::format("mixstack: process {} has no thread {}\n", dump.target.pid, tid));
  return absent.empty() && !report::is_partial(report::summarize(dump)) ? ExitCode::ok : ExitCode::partial;
}

}  // namespace

ExitCode exit_code_of(report::Problem problem) {
  using report::Problem;
  switch (problem) {
    case Problem::none:
      return ExitCode::ok;
    case Problem::no_such_process:
    case Problem::is_thread:
    case Problem::no_such_thread:
      return ExitCode::no_such_process;
    case Problem::permission:
    case Problem::hidden:
      return ExitCode::permission;
    case Problem::resources:
    case Problem::no_proc:
    case Problem::foreign_proc:
      return ExitCode::resources;
    case Problem::already_traced:
      return ExitCode::already_traced;
    case Problem::zombie:
    case Problem::kernel_thread:
    case Problem::is_self:
    case Problem::unsupported_cpu:
      return ExitCode::unsupported;
    case Problem::process_changed:
      return ExitCode::process_changed;
    case Problem::other:
      break;
  }
  return ExitCode::internal;
}

ExitCode exit_code_of_core(const Error& error) {
  if (report::is_shortage(error.os_error)) return ExitCode::resources;
  switch (error.code) {
    case ErrorCode::not_found:
      return ExitCode::no_such_process;
    case ErrorCode::permission_denied:
      return ExitCode::permission;
    case ErrorCode::malformed:
    case ErrorCode::unsupported:
    case ErrorCode::unsupported_cpu:
    case ErrorCode::truncated:
      return ExitCode::unsupported;
    case ErrorCode::limit_exceeded:  // larger than any core; with an errno, writing the temporary file failed
      return error.os_error == 0 ? ExitCode::unsupported : ExitCode::internal;
    default:
      return ExitCode::internal;
  }
}

namespace {

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
  FdOutput(environment.err)
      .write(fmt::format("mixstack: waiting for a writer of {}\n", report::escape_for_terminal(path)));
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
      FdOutput(environment.err).write(fmt::format("mixstack: {}: {}\n", found.error().subject, found.error().text));
      return tl::unexpected(exit_code_of_core(found.error().error));
    }
    stored = std::make_shared<process::StoredCore>(std::move(*found));
    options.path = stored->path;
  }
  options.symbols = symbols;
  const auto complain = [&environment, stored, path = options.path](const Error& error) {
    FdOutput(environment.err).write("mixstack: " + report::core_problem_text(error, path));
    return exit_code_of_core(error);
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
  FdOutput(environment.err).write("mixstack: " + bpf::refusal_text(refusal, error));
  if (refusal == bpf::BpfRefusal::memory) return ExitCode::resources;
  return error.code == ErrorCode::permission_denied ? ExitCode::permission : ExitCode::unsupported;
}

tl::expected<OpenedTarget, ExitCode> open_process(const DumpArguments& arguments, const SymbolOptions& symbols,
                                                  const Environment& environment) {
  const report::RefusalFacts facts = machine::read_refusal_facts(arguments.pid);
  if (const auto problem = report::foreseen_problem(facts); problem != report::Problem::none)
    return tl::unexpected(complain(environment, problem, {}, facts));
  // The name that it had, for a process that has vanished since.
  const auto complain_of = [&environment, pid = arguments.pid, comm = facts.comm](const Error& error) {
    report::RefusalFacts now = machine::read_refusal_facts(pid);
    if (now.comm.empty()) now.comm = comm;
    now.seccomp = error.code == ErrorCode::permission_denied && machine::filter_could_be_why(now) &&
                  process::ptrace_is_filtered();
    return complain(environment, report::problem_of(error, now), error, now);
  };
  auto session = (arguments.no_stop ? environment.open_unstopped : environment.open_process)(arguments.pid);
  if (!session && arguments.no_stop)
    if (const auto code = complain_of_bpf(session.error(), environment)) return tl::unexpected(*code);
  if (!session) return tl::unexpected(complain_of(session.error()));
  apply(arguments.runtime, **session);
  (*session)->set_symbol_options(symbols);
  return OpenedTarget{std::move(*session), complain_of};
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
      FdOutput(environment.err)
          .write(fmt::format("mixstack: {} processes are called '{}' ({}); --thread is for one: give its pid\n",
                             pids.size(), report::escape_for_terminal(arguments.name), fmt::join(pids, ", ")));
      return ExitCode::usage;
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
