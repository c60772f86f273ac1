#include "frontends/cli/targets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <optional>
#include <utility>

#include "features/machine/explained_opening.h"
#include "features/machine/named_programs.h"
#include "features/symbols/usual_places.h"
#include "frontends/cli/output.h"
#include "output/report/escape.h"
#include "process/bpf/bpf_refusal.h"
#include "process/core/core_store.h"

namespace mixstack::cli {
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
  remark(environment, {"waits_for_writer", {}, 0, path},
         fmt::format("waiting for a writer of {}", report::escape_for_terminal(path)));
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

tl::expected<std::uint32_t, ExitCode> pid_called(const std::string& name, const Environment& environment) {
  const auto pids = pids_called(name, environment);
  if (!pids) return tl::unexpected(pids.error());
  if (pids->size() == 1) return pids->front();
  const std::string words = fmt::format("{} processes are called '{}' ({}): give the pid of one", pids->size(),
                                        report::escape_for_terminal(name), fmt::join(*pids, ", "));
  return tl::unexpected(complain(environment, words, ExitCode::usage));
}

}  // namespace

SymbolOptions symbol_options(const DumpArguments& arguments) {
  SymbolOptions options = symbol_answers::symbol_options_of_environment();
  options.lines = arguments.native_lines;
  if (arguments.symbol_path) options.path = *arguments.symbol_path;
  return options;
}

void warn_of_missing_folders(const SymbolOptions& options, const Environment& environment) {
  for (const std::string& words : symbol_answers::missing_folders(options))
    remark(environment, {"no_symbol_folder"}, "warning: symbol path: " + words);
}

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

tl::expected<OpenedTarget, ExitCode> open_subject(Subject& subject, const Environment& environment) {
  if (!subject.name.empty()) {
    const auto pid = pid_called(subject.name, environment);
    if (!pid) return tl::unexpected(pid.error());
    subject.pid = *pid;
  }
  DumpArguments what;
  static_cast<Subject&>(what) = subject;
  return open_target(what, symbol_options(what), environment);
}

ExitCode complain_of_list(const Environment& environment, const Error& error) {
  return complain(environment, {machine::no_list_name(error), {}, error.os_error}, machine::no_list_text(error),
                  ExitCode::resources);
}

tl::expected<std::vector<std::uint32_t>, ExitCode> pids_called(const std::string& name,
                                                               const Environment& environment) {
  const auto found = running_programs(std::chrono::milliseconds(0));
  if (!found) return tl::unexpected(complain_of_list(environment, found.error()));
  auto pids = machine::pids_called(name, *found);
  if (!pids.empty()) return pids;
  return tl::unexpected(complain(environment, machine::nobody_called_text(name, *found), ExitCode::no_such_process));
}

}  // namespace mixstack::cli
