#include <string>
#include <utility>

#include "features/symbols/named_recording.h"
#include "frontends/cli/commands.h"
#include "frontends/cli/output.h"
#include "frontends/cli/targets.h"
#include "output/formats/difference.h"
#include "output/formats/empty_view.h"
#include "output/formats/reader_notes.h"

namespace mixstack::cli {
namespace {

/// Says that a file is cut or damaged; returns whether it is.
bool say_what_is_missing(const Recording& recording, const std::string& path, const Environment& environment) {
  const std::string text = formats::cut_text(recording, path);
  remark(environment, {"cut", {}, 0, path}, text);
  return !text.empty();
}

}  // namespace

ExitCode run_convert(const ConvertArguments& arguments, const Environment& environment) {
  auto read = read_recording_file(arguments.in, environment);
  if (!read) return read.error();
  const bool is_cut = say_what_is_missing(*read, arguments.in, environment);
  DumpArguments looks;
  looks.symbol_path = arguments.symbol_path;
  const SymbolOptions symbols = symbol_options(looks);
  if (!symbols.path.empty()) warn_of_missing_folders(symbols, environment);
  const auto named = symbol_answers::with_names(std::move(*read), symbols);
  const Recording& recording = named.recording;
  remark(environment, {"symbols_failed"}, named.failures);
  if (!arguments.quiet) {
    remark(environment, {"nameless", {}, 0, arguments.in}, named.nameless);
    remark(environment, {"changed_by_reading", {}, 0, arguments.in}, formats::changed_text(recording, arguments.in));
    if (!named.said_nameless)
      remark(environment, {"nameless", {}, 0, arguments.in}, formats::nameless_text(recording, arguments.in));
    remark(environment, {"nothing_to_show"}, formats::empty_words(recording, arguments.format, arguments.options));
  }
  const ExitCode written =
      write_file(arguments.out, formats::is_text(arguments.format), environment,
                 [&](report::Writer& out) { formats::write_as(arguments.format, out, recording, arguments.options); });
  return written == ExitCode::ok && (is_cut || named.has_failed) ? ExitCode::partial : written;
}

ExitCode run_diff(const DiffArguments& arguments, const Environment& environment) {
  const auto before = read_recording_file(arguments.before, environment);
  if (!before) return before.error();
  const auto after = read_recording_file(arguments.after, environment);
  if (!after) return after.error();
  bool is_cut = say_what_is_missing(*before, arguments.before, environment);
  is_cut = say_what_is_missing(*after, arguments.after, environment) || is_cut;
  if (!arguments.quiet) {
    remark(environment, {"changed_by_reading", {}, 0, arguments.before},
           formats::changed_text(*before, arguments.before));
    remark(environment, {"changed_by_reading", {}, 0, arguments.after}, formats::changed_text(*after, arguments.after));
    // The text format contains this warning itself.
    const std::string words = formats::different_modes(*before, *after);
    if (!words.empty() && arguments.format != formats::Format::text) remark(environment, {"different_modes"}, words);
  }
  const ExitCode written = write_file(arguments.out, true, environment, [&](report::Writer& out) {
    formats::write_diff(out, arguments.format, {*before, arguments.before}, {*after, arguments.after},
                        arguments.options);
  });
  return written == ExitCode::ok && is_cut ? ExitCode::partial : written;
}

}  // namespace mixstack::cli
