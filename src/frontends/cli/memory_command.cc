#include "frontends/cli/memory_command.h"

#include "frontends/cli/dump_command.h"
#include "frontends/cli/input.h"
#include "frontends/cli/makers_command.h"
#include "frontends/cli/native_command.h"
#include "frontends/cli/output.h"
#include "frontends/cli/ps_command.h"
#include "frontends/cli/symbol_options.h"
#include "mixstack/memory_files.h"
#include "mixstack/memory_growth.h"
#include "output/formats/read_any.h"
#include "output/report/escape.h"
#include "output/report/writer.h"

namespace mixstack::cli {
namespace {

/// A moment is bytes, whatever the output is; the others are text.
ExitCode write_as(const MemoryArguments& arguments, const Environment& environment, const files::WriteOutput& write) {
  if (arguments.format != MemoryFormat::moment) return write_answer_to(arguments.out, environment, write);
  const ExitCode code = write_file(arguments.out, false, environment, write);
  if (code == ExitCode::ok)
    remark(environment, {"wrote", {}, 0, arguments.out},
           "mixstack: wrote " + report::escape_for_terminal(arguments.out) + "\n");
  return code;
}

ExitCode write_moment_out(const MemoryArguments& arguments, const Environment& environment, MemoryAnswer answer) {
  const bool is_whole = answer.is_whole();
  const ExitCode code = write_as(arguments, environment, [&](report::Writer& writer) {
    const auto sink = [&](std::string_view piece) { writer << piece; };
    if (arguments.format == MemoryFormat::moment) {
      write_moment(moment_of(std::move(answer)), sink);
    } else if (arguments.format == MemoryFormat::json) {
      write_json(answer, sink);
    } else if (arguments.format == MemoryFormat::html) {
      write_html(answer, sink);
    } else {
      write_text(answer, sink);
    }
  });
  return code == ExitCode::ok && !is_whole ? ExitCode::partial : code;
}

ExitCode write_growth_out(const MemoryArguments& arguments, const Environment& environment, const MemoryTwice& twice) {
  const MemoryGrowth& growth = twice.growth;
  const ExitCode code = write_as(arguments, environment, [&](report::Writer& writer) {
    const auto sink = [&](std::string_view piece) { writer << piece; };
    if (arguments.format == MemoryFormat::html) {
      write_html(twice, sink);
    } else if (arguments.format == MemoryFormat::json) {
      write_json(growth, sink);
    } else {
      write_text(growth, sink);
    }
  });
  return code == ExitCode::ok && !growth.why_not.empty() ? ExitCode::partial : code;
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

}  // namespace

ExitCode run_memory(const MemoryArguments& arguments, const Environment& environment) {
  if (!arguments.after_file.empty()) return compare_files(arguments, environment);
  if (!arguments.core.path.empty() && formats::is_moment_file(arguments.core.path)) {
    auto moment = read_moment_file(arguments.core.path, environment);
    if (!moment) return moment.error();
    return write_moment_out(arguments, environment, answer_of(std::move(*moment)));
  }
  if (!arguments.core.path.empty() && !arguments.types && !arguments.holders) {
    return complain(environment, "a core does not say what was resident: it has --types and --holders alone",
                    ExitCode::usage);
  }
  DumpArguments of;
  of.pid = arguments.pid;
  of.core = arguments.core;
  if (!arguments.name.empty()) {
    const auto pid = pid_called(arguments.name, environment);
    if (!pid) return pid.error();
    of.pid = *pid;
  }
  auto opened = open_target(of, symbol_options(of), environment);
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
