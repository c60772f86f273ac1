// Input: MemoryArguments: a process, core, moment file or two of them; the question; the format and file of the answer.
// Output: the answer as text, JSON, a page or a moment, and an exit code: `partial` where something is not known.
// Algorithm: files answer by themselves; anything else is opened once, and asked one question (mixstack/ask_*.h).
// Bounds: those of the questions; Ctrl-C ends the time of --makers and --native, and what was seen is told.
#include <functional>
#include <utility>

#include "base/system/file_limit.h"
#include "frontends/cli/commands.h"
#include "frontends/cli/output.h"
#include "frontends/cli/targets.h"
#include "mixstack/ask_makers.h"
#include "mixstack/ask_native.h"
#include "mixstack/memory_files.h"
#include "mixstack/memory_growth.h"
#include "output/files/end_signals.h"
#include "output/formats/read_any.h"
#include "output/report/escape.h"
#include "output/report/writer.h"

namespace mixstack::cli {
namespace {

using Write = std::function<void(const ReportSink& sink)>;

ExitCode write_out(const MemoryArguments& arguments, const Environment& environment, bool is_whole,
                   const Write& write) {
  const ExitCode code = write_answer_to(arguments.out, environment, [&](report::Writer& writer) {
    write([&](std::string_view piece) { writer << piece; });
  });
  return code == ExitCode::ok && !is_whole ? ExitCode::partial : code;
}

/// Writes an answer as text or JSON, which all have.
template <class Answer>
void write_as(MemoryFormat format, const Answer& answer, const ReportSink& sink) {
  format == MemoryFormat::json ? write_json(answer, sink) : write_text(answer, sink);
}

/// A moment is bytes, whatever the output is; the others are text.
ExitCode write_moment_out(const MemoryArguments& arguments, const Environment& environment, MemoryAnswer answer) {
  const bool is_whole = answer.is_whole();
  if (arguments.format != MemoryFormat::moment)
    return write_out(arguments, environment, is_whole, [&](const ReportSink& sink) {
      arguments.format == MemoryFormat::html ? write_html(answer, sink) : write_as(arguments.format, answer, sink);
    });
  const ExitCode code = write_file(arguments.out, false, environment, [&](report::Writer& writer) {
    write_moment(moment_of(std::move(answer)), [&](std::string_view piece) { writer << piece; });
  });
  if (code != ExitCode::ok) return code;
  remark(environment, {"wrote", {}, 0, arguments.out}, "wrote " + report::escape_for_terminal(arguments.out));
  return is_whole ? ExitCode::ok : ExitCode::partial;
}

ExitCode write_growth_out(const MemoryArguments& arguments, const Environment& environment, const MemoryTwice& twice) {
  return write_out(arguments, environment, twice.growth.why_not.empty(), [&](const ReportSink& sink) {
    arguments.format == MemoryFormat::html ? write_html(twice, sink) : write_as(arguments.format, twice.growth, sink);
  });
}

ExitCode compare_files(const MemoryArguments& arguments, const Environment& environment) {
  auto before = read_moment_file(arguments.before_file, environment);
  if (!before) return before.error();
  auto after = read_moment_file(arguments.after_file, environment);
  if (!after) return after.error();
  MemoryTwice twice{std::move(*before), std::move(*after), {}};
  twice.growth = growth_of(twice.before, twice.after);
  return write_growth_out(arguments, environment, twice);
}

ExitCode run_makers(const MemoryArguments& arguments, OpenedTarget& opened, const Environment& environment) {
  const files::EndSignals signals;
  base::raise_file_limit();
  MakersOptions options;
  options.time = arguments.makers_time;
  options.may_go_on = [&signals] { return signals.wait(0) == 0; };
  const auto makers = ask_makers(*opened.session, options);
  if (!makers) return opened.complain(makers.error());
  return write_out(arguments, environment, makers->has_bytes && makers->has_samples,
                   [&](const ReportSink& sink) { write_as(arguments.format, *makers, sink); });
}

ExitCode run_native(const MemoryArguments& arguments, OpenedTarget& opened, const Environment& environment) {
  const files::EndSignals signals;
  base::raise_file_limit();
  NativeOptions options;
  options.time = arguments.native_time;
  options.may_go_on = [&signals] { return signals.wait(0) == 0; };
  const auto growth = ask_native(*opened.session, options);
  if (!growth) return opened.complain(growth.error());
  return write_out(arguments, environment, growth->has_calls,
                   [&](const ReportSink& sink) { write_as(arguments.format, *growth, sink); });
}

}  // namespace

ExitCode run_memory(const MemoryArguments& arguments, const Environment& environment) {
  if (!arguments.after_file.empty()) return compare_files(arguments, environment);
  if (!arguments.core.path.empty() && formats::is_moment_file(arguments.core.path)) {
    auto moment = read_moment_file(arguments.core.path, environment);
    if (!moment) return moment.error();
    return write_moment_out(arguments, environment, answer_of(std::move(*moment)));
  }
  if (!arguments.core.path.empty() && !arguments.types && !arguments.holders)
    return complain(environment, "a core does not say what was resident: it has --types and --holders alone",
                    ExitCode::usage);
  Subject of = static_cast<const Subject&>(arguments);
  auto opened = open_subject(of, environment);
  if (!opened) return opened.error();
  if (arguments.native) return run_native(arguments, *opened, environment);
  if (arguments.makers) return run_makers(arguments, *opened, environment);
  const MemoryOptions options{arguments.types,
                              {arguments.most_pause, false, arguments.types, arguments.data},
                              arguments.holders,
                              {arguments.most_pause, arguments.holders_of, 0, arguments.data}};
  if (arguments.after.count() != 0) {
    const auto twice = ask_memory_twice(*opened->session, {options, arguments.after});
    return twice ? write_growth_out(arguments, environment, *twice) : opened->complain(twice.error());
  }
  auto answer = ask_memory(*opened->session, options);
  return answer ? write_moment_out(arguments, environment, std::move(*answer)) : opened->complain(answer.error());
}

}  // namespace mixstack::cli
