#include "frontends/cli/makers_command.h"

#include "base/system/file_limit.h"
#include "frontends/cli/output.h"
#include "mixstack/ask_makers.h"
#include "output/files/end_signals.h"
#include "output/report/writer.h"

namespace mixstack::cli {

ExitCode run_makers(const MemoryArguments& arguments, OpenedTarget& opened, const Environment& environment) {
  const files::EndSignals signals;
  base::raise_file_limit();
  MakersOptions options;
  options.time = arguments.makers_time;
  options.may_go_on = [&signals] { return signals.wait(0) == 0; };
  const auto makers = ask_makers(*opened.session, options);
  if (!makers) return opened.complain(makers.error());
  const ExitCode written = write_answer_to(arguments.out, environment, [&](report::Writer& writer) {
    const auto sink = [&](std::string_view piece) { writer << piece; };
    arguments.format == MemoryFormat::json ? write_json(*makers, sink) : write_text(*makers, sink);
  });
  if (written != ExitCode::ok) return written;
  return makers->has_bytes && makers->has_samples ? ExitCode::ok : ExitCode::partial;
}

}  // namespace mixstack::cli
