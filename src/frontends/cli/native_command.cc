#include "frontends/cli/native_command.h"

#include "base/system/file_limit.h"
#include "frontends/cli/output.h"
#include "mixstack/ask_native.h"
#include "output/files/end_signals.h"
#include "output/report/writer.h"

namespace mixstack::cli {

ExitCode run_native(const MemoryArguments& arguments, OpenedTarget& opened, const Environment& environment) {
  const files::EndSignals signals;
  base::raise_file_limit();
  NativeOptions options;
  options.time = arguments.native_time;
  options.may_go_on = [&signals] { return signals.wait(0) == 0; };
  const auto growth = ask_native(*opened.session, options);
  if (!growth) return opened.complain(growth.error());
  const ExitCode written = write_answer_to(arguments.out, environment, [&](report::Writer& writer) {
    const auto sink = [&](std::string_view piece) { writer << piece; };
    arguments.format == MemoryFormat::json ? write_json(*growth, sink) : write_text(*growth, sink);
  });
  if (written != ExitCode::ok) return written;
  return growth->has_calls ? ExitCode::ok : ExitCode::partial;
}

}  // namespace mixstack::cli
