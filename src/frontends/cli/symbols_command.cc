#include "frontends/cli/symbols_command.h"

#include <fmt/format.h>

#include <algorithm>

#include "features/renaming/later_names.h"
#include "frontends/cli/dump_command.h"
#include "frontends/cli/fd_output.h"
#include "frontends/cli/fetch_summary.h"
#include "frontends/cli/recording_input.h"
#include "frontends/cli/symbol_options.h"
#include "output/report/escape.h"
#include "output/report/symbols_report.h"
#include "output/report/words.h"

namespace mixstack::cli {
namespace {

using Verb = SymbolsArguments::Verb;

constexpr const char* kMicrosoft = "https://msdl.microsoft.com/download/symbols";

bool names_a_server(const SymbolOptions& options) {
  return options.path.find("://") != std::string::npos || !options.debuginfod_urls.empty();
}

/// `status` asks no servers: only folders and the cache.
SymbolOptions options_of(const SymbolsArguments& arguments) {
  SymbolOptions options = symbol_options(arguments.of);
  if (arguments.verb == Verb::status) {
    options.time_for_all = std::chrono::milliseconds(0);
    return options;
  }
  options.time_for_all = arguments.timeout;
  if (!names_a_server(options)) options.path += (options.path.empty() ? "" : ";") + std::string(kMicrosoft);
  return options;
}

std::string diagnoses_text(const std::vector<Diagnosis>& diagnoses) {
  std::string text;
  for (const Diagnosis& d : diagnoses)
    text += fmt::format("  {}: {}\n", report::escape_for_terminal(d.subject),
                        d.text.empty() ? report::error_words(d.error) : report::escape_for_terminal(d.text));
  return text.empty() ? text : "\n" + text;
}

std::string advice(const SymbolsArguments& arguments, bool is_missing) {
  if (!is_missing || arguments.verb == Verb::fetch) return {};
  std::string what = std::to_string(arguments.of.pid);
  if (!arguments.of.core.path.empty()) what = "--core " + report::escape_for_terminal(arguments.of.core.path);
  if (!arguments.recording.empty()) what = report::escape_for_terminal(arguments.recording);
  return fmt::format("\nmixstack symbols fetch {} asks servers for what is missing.\n", what);
}

/// The process, core or recording, and the symbols of its modules.
struct Answer {
  report::SymbolsSubject subject;
  std::vector<ModuleSymbols> modules;
};

tl::expected<Answer, ExitCode> ask(const SymbolsArguments& arguments, const SymbolOptions& options,
                                   const Environment& environment) {
  Answer answer;
  if (arguments.recording.empty()) {
    auto dumped = dump_target(arguments.of, options, environment);
    if (!dumped) return tl::unexpected(dumped.error());
    answer.modules = dumped->session->symbol_files(dumped->dump, arguments.all);
    answer.subject = report::symbols_subject(dumped->dump);
    return answer;
  }
  auto recording = read_recording_file(arguments.recording, environment);
  if (!recording) return tl::unexpected(recording.error());
  auto names = renaming::name_later(std::move(*recording), {options, true});
  answer.modules = std::move(names.modules);
  answer.subject.recording = arguments.recording;
  answer.subject.diagnoses = std::move(names.diagnoses);
  const auto& processes = names.recording.processes();
  if (processes.size() == 1) {
    answer.subject.pid = processes.front().pid;
    answer.subject.program = processes.front().comm;
    answer.subject.runtimes = {processes.front().runtime};
  }
  return answer;
}

}  // namespace

ExitCode run_symbols(const SymbolsArguments& arguments, const Environment& environment) {
  const SymbolOptions options = options_of(arguments);
  warn_of_missing_folders(options, environment);
  const bool fetches = arguments.verb == Verb::fetch;
  const CacheContent before = fetches ? cache_content(options.cache) : CacheContent{};
  const auto answer = ask(arguments, options, environment);
  if (!answer) return answer.error();
  const std::vector<ModuleSymbols>& modules = answer->modules;
  const std::vector<Diagnosis>& diagnoses = answer->subject.diagnoses;
  const bool is_missing = std::any_of(modules.begin(), modules.end(),
                                      [](const ModuleSymbols& m) { return m.is_missing() && m.nameless != 0; });
  FdOutput out(environment.out);
  if (arguments.json) {
    out.write(report::symbols_json(answer->subject, modules));
  } else {
    out.write(report::symbols_text(answer->subject, modules) + diagnoses_text(diagnoses) +
              advice(arguments, is_missing));
    if (fetches) out.write(fetch_summary({options, before, cache_content(options.cache), modules, diagnoses}));
  }
  if (out.error() != 0) return ExitCode::output;
  return fetches && is_missing ? ExitCode::partial : ExitCode::ok;
}

}  // namespace mixstack::cli
