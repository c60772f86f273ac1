#include "frontends/cli/memory_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <system_error>

#include "frontends/cli/dump_command.h"
#include "frontends/cli/fd_output.h"
#include "frontends/cli/profile_file.h"
#include "frontends/cli/ps_command.h"
#include "frontends/cli/symbol_options.h"
#include "mixstack/ask_memory.h"
#include "output/report/escape.h"
#include "output/report/writer.h"

namespace mixstack::cli {
namespace {

ExitCode write_out(const MemoryArguments& arguments, const Environment& environment, const MemoryAnswer& answer) {
  const auto write = [&](report::Writer& writer) {
    const auto sink = [&](std::string_view piece) { writer << piece; };
    arguments.json ? write_json(answer, sink) : write_text(answer, sink);
  };
  if (!arguments.out.empty() && arguments.out != "-") {
    const ExitCode code = write_profile_file(arguments.out, true, environment, write);
    if (code == ExitCode::ok)
      FdOutput(environment.err).write(fmt::format("mixstack: wrote {}\n", report::escape_for_terminal(arguments.out)));
    return code;
  }
  FdOutput out(environment.out);
  report::Writer writer([&out](std::string_view piece) { out.write(piece); });
  write(writer);
  writer.flush();
  if (out.error() == 0) return ExitCode::ok;
  FdOutput(environment.err)
      .write(
          fmt::format("mixstack: the answer could not be written: {}\n", std::generic_category().message(out.error())));
  return ExitCode::output;
}

}  // namespace

ExitCode run_memory(const MemoryArguments& arguments, const Environment& environment) {
  DumpArguments of;
  of.pid = arguments.pid;
  of.core = arguments.core;
  if (!arguments.name.empty()) {
    const auto pids = pids_called(arguments.name, environment);
    if (!pids) return pids.error();
    if (pids->size() != 1) {
      FdOutput(environment.err)
          .write(fmt::format("mixstack: {} processes are called '{}' ({}): give the pid of one\n", pids->size(),
                             report::escape_for_terminal(arguments.name), fmt::join(*pids, ", ")));
      return ExitCode::usage;
    }
    of.pid = pids->front();
  }
  auto opened = open_target(of, symbol_options(of), environment);
  if (!opened) return opened.error();
  const auto answer = ask_memory(*opened->session, {arguments.types, {arguments.most_pause}});
  if (!answer) return opened->complain(answer.error());
  if (const ExitCode code = write_out(arguments, environment, *answer); code != ExitCode::ok) return code;
  return answer->is_whole() ? ExitCode::ok : ExitCode::partial;
}

}  // namespace mixstack::cli
