#include "frontends/cli/convert_command.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "frontends/cli/fd_output.h"
#include "frontends/cli/profile_file.h"
#include "frontends/cli/recording_input.h"
#include "frontends/cli/recording_names.h"
#include "output/formats/difference.h"
#include "output/formats/empty_view.h"
#include "output/formats/folded_reader.h"
#include "output/report/escape.h"
#include "output/report/nameless_code.h"

namespace mixstack::cli {
namespace {

using formats::Format;

constexpr std::string_view kCut = "the file is cut";

std::string shown_path(const std::string& path) {
  return path == "-" ? "standard input" : report::escape_for_terminal(path);
}

/// Prints the reader's note about a cut or damaged file; returns whether there is one.
bool say_what_is_missing(const Recording& recording, const std::string& path, const Environment& environment) {
  bool is_cut = false;
  for (const std::string& note : recording.facts.notes) {
    if (!note.starts_with(kCut)) continue;
    is_cut = true;
    FdOutput(environment.err).write(fmt::format("mixstack: {}: {}\n", shown_path(path), note));
  }
  return is_cut;
}

/// Notes of the reader of folded stacks: divided counts, and frames left out.
std::string changed_words(const Recording& recording, const std::string& path) {
  std::string text;
  for (const std::string& note : recording.facts.notes)
    if (note.starts_with(formats::kCountsDivided) || note.starts_with(formats::kCutInTheMiddle))
      text += fmt::format("mixstack: {}: {}\n", shown_path(path), report::escape_for_terminal(note));
  return text;
}

std::string remarks(const Recording& recording, const std::string& path, bool said_nameless) {
  std::string text = changed_words(recording, path);
  if (said_nameless) return text;
  const std::string file = path == "-" ? "FILE.mxr" : report::escape_for_terminal(path);
  if (const std::string words = report::nameless_words(recording, file); !words.empty())
    text += "mixstack: " + words + "\n";
  return text;
}

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

}  // namespace

ExitCode run_convert(const ConvertArguments& arguments, const Environment& environment) {
  auto read = read_recording_file(arguments.in, environment);
  if (!read) return read.error();
  const bool is_cut = say_what_is_missing(*read, arguments.in, environment);
  const auto [recording, has_failed, said_nameless] =
      with_names(std::move(*read), arguments.symbol_path, arguments.quiet, environment);
  if (!arguments.quiet) {
    FdOutput(environment.err).write(remarks(recording, arguments.in, said_nameless));
    FdOutput(environment.err).write(formats::empty_words(recording, arguments.format, arguments.options));
  }
  const ExitCode written = write_profile_file(arguments.out, formats::is_text(arguments.format), environment,
                                              [&, &shown = recording](report::Writer& out) {
                                                formats::write_as(arguments.format, out, shown, arguments.options);
                                              });
  return written == ExitCode::ok && (is_cut || has_failed) ? ExitCode::partial : written;
}

ExitCode run_diff(const DiffArguments& arguments, const Environment& environment) {
  const auto before = read_recording_file(arguments.before, environment);
  if (!before) return before.error();
  const auto after = read_recording_file(arguments.after, environment);
  if (!after) return after.error();
  bool is_cut = say_what_is_missing(*before, arguments.before, environment);
  is_cut = say_what_is_missing(*after, arguments.after, environment) || is_cut;
  std::string text;
  for (const auto& [recording, path] : {std::pair(&*before, &arguments.before), std::pair(&*after, &arguments.after)})
    text += changed_words(*recording, *path);
  // The text format contains this warning itself.
  if (const std::string words = formats::different_modes(*before, *after);
      !words.empty() && arguments.format != Format::text)
    text += "mixstack: " + words + "\n";
  if (!arguments.quiet) FdOutput(environment.err).write(text);
  const ExitCode written = write_profile_file(arguments.out, true, environment, [&](report::Writer& out) {
    if (arguments.format == Format::folded) {
      formats::write_diff_folded(out, *before, *after, arguments.options);
    } else if (arguments.format == Format::text) {
      formats::write_diff_text(out, *before, *after, arguments.options);
    } else {
      formats::write_diff_html(out, *before, *after, arguments.options, file_name(arguments.before),
                               file_name(arguments.after));
    }
  });
  return written == ExitCode::ok && is_cut ? ExitCode::partial : written;
}

}  // namespace mixstack::cli
