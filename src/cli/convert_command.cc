#include "cli/convert_command.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cli/empty_view.h"
#include "cli/fd_output.h"
#include "cli/profile_file.h"
#include "cli/recording_input.h"
#include "cli/recording_names.h"
#include "formats/difference.h"
#include "report/escape.h"
#include "report/words.h"

namespace mixstack::cli {
namespace {

using formats::Format;

constexpr std::string_view kCut = "the file is cut";

/// What is missing of a file, which its reader noted; whether something is.
bool say_what_is_missing(const Recording& recording, const std::string& path, const Environment& environment) {
  bool is_cut = false;
  for (const std::string& note : recording.facts.notes) {
    if (!note.starts_with(kCut)) continue;
    is_cut = true;
    FdOutput(environment.err)
        .write(fmt::format("mixstack: {}: {}\n", path == "-" ? "standard input" : report::escape_for_terminal(path),
                           note));
  }
  return is_cut;
}

/// Of native code in modules: what 'mixstack symbols' can tell more of.
bool is_nameless(const RecordedFunction& function) {
  return function.name.empty() && function.module != kNoIndex &&
         (function.kind == CodeKind::native || function.kind == CodeKind::runtime);
}

/// Boxes that are called "[libfoo.so]" have a reason, too.
std::string nameless_words(const Recording& recording, const std::string& path) {
  std::uint64_t places = 0, samples = 0, all = 0;
  for (const RecordedFrame& frame : recording.frames())
    places += is_nameless(recording.functions()[frame.function]) ? 1 : 0;
  if (places == 0) return {};
  std::vector<bool> has_nameless(recording.nodes().size());
  for (std::size_t n = 1; n < has_nameless.size(); n++) {
    const StackNode& node = recording.nodes()[n];
    has_nameless[n] =
        has_nameless[node.parent] || is_nameless(recording.functions()[recording.frames()[node.frame].function]);
  }
  for (const Sample& sample : recording.samples()) {
    all += sample.count;
    samples += has_nameless[sample.stack] ? sample.count : 0;
  }
  const std::string file = path == "-" ? "FILE.mxr" : report::escape_for_terminal(path);
  return fmt::format(
      "mixstack: {} of native code without a name, in the stacks of {} of {}; 'mixstack symbols status "
      "{}' tells why\n",
      report::counted(places, "place"), samples, report::counted(all, "sample"), file);
}

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

}  // namespace

ExitCode run_convert(const ConvertArguments& arguments, const Environment& environment) {
  auto read = read_recording_file(arguments.in, environment);
  if (!read) return read.error();
  const bool is_cut = say_what_is_missing(*read, arguments.in, environment);
  const auto [recording, has_failed, said_nameless] = with_names(std::move(*read), arguments.symbol_path, environment);
  if (!said_nameless) FdOutput(environment.err).write(nameless_words(recording, arguments.in));
  say_if_empty(recording, arguments.format, arguments.options, environment);
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
