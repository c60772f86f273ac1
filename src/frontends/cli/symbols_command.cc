#include <fmt/format.h>

#include <utility>

#include "features/symbols/fetch_summary.h"
#include "features/symbols/symbols_answer.h"
#include "features/symbols/usual_places.h"
#include "frontends/cli/commands.h"
#include "frontends/cli/output.h"
#include "frontends/cli/targets.h"
#include "output/report/escape.h"
#include "output/report/symbols_report.h"

namespace mixstack::cli {
namespace {

using symbol_answers::SymbolsAnswer;
using Verb = SymbolsArguments::Verb;

std::string advice(const SymbolsArguments& arguments, bool is_missing) {
  if (!is_missing || arguments.verb == Verb::fetch) return {};
  std::string what = std::to_string(arguments.of.pid);
  if (!arguments.of.core.path.empty()) what = "--core " + report::escape_for_terminal(arguments.of.core.path);
  if (!arguments.recording.empty()) what = report::escape_for_terminal(arguments.recording);
  return fmt::format("\nmixstack symbols fetch {} asks servers for what is missing.\n", what);
}

tl::expected<SymbolsAnswer, ExitCode> ask(const SymbolsArguments& arguments, const SymbolOptions& options,
                                          const Environment& environment) {
  if (arguments.recording.empty()) {
    auto dumped = dump_target(arguments.of, options, environment);
    if (!dumped) return tl::unexpected(dumped.error());
    return symbol_answers::symbols_of(*dumped->session, dumped->dump, arguments.all);
  }
  auto recording = read_recording_file(arguments.recording, environment);
  if (!recording) return tl::unexpected(recording.error());
  return symbol_answers::symbols_of(std::move(*recording), arguments.recording, options);
}

}  // namespace

ExitCode run_symbols(const SymbolsArguments& arguments, const Environment& environment) {
  const SymbolOptions options = arguments.verb == Verb::status
                                    ? symbol_answers::without_servers(symbol_options(arguments.of))
                                    : symbol_answers::with_servers(symbol_options(arguments.of), arguments.timeout);
  warn_of_missing_folders(options, environment);
  const bool fetches = arguments.verb == Verb::fetch;
  const symbol_answers::CacheContent before =
      fetches ? symbol_answers::cache_content(options.cache) : symbol_answers::CacheContent{};
  const auto answer = ask(arguments, options, environment);
  if (!answer) return answer.error();
  const std::vector<ModuleSymbols>& modules = answer->modules;
  const bool is_missing = answer->is_missing_any();
  FdOutput out(environment.out);
  if (arguments.json) {
    out.write(report::symbols_json(answer->subject, modules));
  } else {
    out.write(report::symbols_text(answer->subject, modules) + symbol_answers::diagnoses_text(*answer) +
              advice(arguments, is_missing));
    if (fetches)
      out.write(symbol_answers::fetch_summary(
          {options, before, symbol_answers::cache_content(options.cache), modules, answer->subject.diagnoses}));
  }
  if (out.error() != 0) return ExitCode::output;
  return fetches && is_missing ? ExitCode::partial : ExitCode::ok;
}

}  // namespace mixstack::cli
