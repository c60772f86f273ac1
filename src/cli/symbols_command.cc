#include "cli/symbols_command.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/dump_command.h"
#include "cli/fd_output.h"
#include "cli/fetch_summary.h"
#include "cli/symbol_options.h"
#include "report/escape.h"
#include "report/symbols_report.h"
#include "report/words.h"

namespace mixstack::cli {
namespace {

using Verb = SymbolsArguments::Verb;

constexpr const char* kMicrosoft = "https://msdl.microsoft.com/download/symbols";

bool names_a_server(const SymbolOptions& options) {
  return options.path.find("://") != std::string::npos || !options.debuginfod_urls.empty();
}

/// `status` goes by what is here: folders and the cache.
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
  const std::string what = arguments.of.core.path.empty()
                               ? std::to_string(arguments.of.pid)
                               : "--core " + report::escape_for_terminal(arguments.of.core.path);
  return fmt::format("\nmixstack symbols fetch {} asks servers for what is missing.\n", what);
}

}  // namespace

ExitCode run_symbols(const SymbolsArguments& arguments, const Environment& environment) {
  const SymbolOptions options = options_of(arguments);
  warn_of_missing_folders(options, environment);
  const bool fetches = arguments.verb == Verb::fetch;
  const CacheContent before = fetches ? cache_content(options.cache) : CacheContent{};
  auto dumped = dump_target(arguments.of, options, environment);
  if (!dumped) return dumped.error();
  const auto modules = dumped->session->symbol_files(dumped->dump, arguments.all);
  const bool is_missing = std::any_of(modules.begin(), modules.end(),
                                      [](const ModuleSymbols& m) { return m.is_missing() && m.nameless != 0; });
  FdOutput out(environment.out);
  if (arguments.json) {
    out.write(report::symbols_json(dumped->dump, modules));
  } else {
    out.write(report::symbols_text(dumped->dump, modules) + diagnoses_text(dumped->dump.diagnoses) +
              advice(arguments, is_missing));
    if (fetches)
      out.write(fetch_summary({options, before, cache_content(options.cache), modules, dumped->dump.diagnoses}));
  }
  if (out.error() != 0) return ExitCode::output;
  return fetches && is_missing ? ExitCode::partial : ExitCode::ok;
}

}  // namespace mixstack::cli
