#include "frontends/cli/memory_command.h"

#include "frontends/cli/dump_command.h"
#include "frontends/cli/profile_file.h"
#include "frontends/cli/ps_command.h"
#include "frontends/cli/symbol_options.h"
#include "mixstack/ask_memory.h"
#include "output/report/writer.h"

namespace mixstack::cli {
namespace {

ExitCode write_out(const MemoryArguments& arguments, const Environment& environment, const MemoryAnswer& answer) {
  const auto write = [&](report::Writer& writer) {
    const auto sink = [&](std::string_view piece) { writer << piece; };
    arguments.json ? write_json(answer, sink) : write_text(answer, sink);
  };
  return write_answer_to(arguments.out, environment, write);
}

}  // namespace

ExitCode run_memory(const MemoryArguments& arguments, const Environment& environment) {
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
  const auto answer = ask_memory(
      *opened->session,
      {arguments.types, {arguments.most_pause}, arguments.holders, {arguments.most_pause, arguments.holders_of, 0}});
  if (!answer) return opened->complain(answer.error());
  if (const ExitCode code = write_out(arguments, environment, *answer); code != ExitCode::ok) return code;
  return answer->is_whole() ? ExitCode::ok : ExitCode::partial;
}

}  // namespace mixstack::cli
