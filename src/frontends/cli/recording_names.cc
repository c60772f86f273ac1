#include "frontends/cli/recording_names.h"

#include <fmt/format.h>

#include <utility>

#include "features/renaming/later_names.h"
#include "features/symbols/symbols_answer.h"
#include "frontends/cli/fd_output.h"
#include "frontends/cli/symbol_options.h"
#include "output/report/escape.h"
#include "output/report/words.h"

namespace mixstack::cli {
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
    text += fmt::format("mixstack: {}: {}\n", report::escape_for_terminal(d.subject),
                        d.text.empty() ? report::error_words(d.error) : report::escape_for_terminal(d.text));
  if (is_asked && !quiet) text += symbol_answers::nameless_text(names);
  FdOutput(environment.err).write(text);
  return {std::move(names.recording), !names.diagnoses.empty(), is_asked};
}

}  // namespace mixstack::cli
