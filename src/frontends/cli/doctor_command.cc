#include "frontends/cli/doctor_command.h"

#include "frontends/cli/dump_command.h"
#include "frontends/cli/output.h"
#include "mixstack/machine.h"

namespace mixstack::cli {

ExitCode run_doctor(const DoctorArguments& arguments, const Environment& environment) {
  const Examination examination = examine(arguments.pid);
  FdOutput out(environment.out);
  const ReportSink sink = [&out](std::string_view piece) { out.write(piece); };
  arguments.json ? write_json(examination, sink) : write_text(examination, sink);
  if (out.error() != 0) return ExitCode::output;
  return examination.dump ? ExitCode::ok : exit_code_of(examination.problem);
}

}  // namespace mixstack::cli
