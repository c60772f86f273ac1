#include "frontends/cli/recording_names.h"

#include <fmt/format.h>

#include <utility>

#include "features/renaming/later_names.h"
#include "frontends/cli/fd_output.h"
#include "frontends/cli/symbol_options.h"
#include "output/report/escape.h"
#include "output/report/words.h"

namespace mixstack::cli {
namespace {

using report::escape_for_terminal;

constexpr std::size_t kMostLines = 20;

std::string why_nameless(const ModuleSymbols& module) {
  if (!module.remark.empty()) return escape_for_terminal(module.remark);
  if (module.id.empty()) return "it has no build id by which its file could be found";
  if (module.is_missing()) return "no file with symbols of build id " + module.id + " was found";
  return "its file has no names for them";
}

std::string said_of(const renaming::LaterNames& names) {
  std::string text;
  std::size_t lines = 0, more = 0;
  for (const ModuleSymbols& module : names.modules) {
    if (module.nameless == 0) continue;
    if (++lines > kMostLines)
      more++;
    else
      text += fmt::format("mixstack: {}: {} of {} {} no name: {}\n", escape_for_terminal(module.module),
                          module.nameless, report::counted(module.frames, "place"),
                          module.nameless == 1 ? "has" : "have", why_nameless(module));
  }
  if (more != 0) text += fmt::format("mixstack: and places of {} further modules\n", more);
  return text;
}

}  // namespace

NamedRecording with_names(Recording recording, const std::optional<std::string>& symbol_path, bool quiet,
                          const Environment& environment) {
  DumpArguments looks;
  looks.symbol_path = symbol_path;
  renaming::LaterNameOptions options{symbol_options(looks), false};
  const bool is_asked = !options.symbols.path.empty();
  options.every_module = is_asked;
  if (is_asked) {
    options.symbols.lines = NativeLines::all;
    warn_of_missing_folders(options.symbols, environment);
  } else {
    options.symbols.time_for_all = std::chrono::milliseconds(0);
  }
  renaming::LaterNames names = renaming::name_later(std::move(recording), options);
  std::string text;
  for (const Diagnosis& d : names.diagnoses)
    text += fmt::format("mixstack: {}: {}\n", escape_for_terminal(d.subject),
                        d.text.empty() ? report::error_words(d.error) : escape_for_terminal(d.text));
  if (is_asked && !quiet) text += said_of(names);
  FdOutput(environment.err).write(text);
  return {std::move(names.recording), !names.diagnoses.empty(), is_asked};
}

}  // namespace mixstack::cli
