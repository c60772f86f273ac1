// `mixstack dump`.
#pragma once

#include <memory>
#include <tl/expected.hpp>

#include "cli/arguments.h"
#include "cli/exit_code.h"
#include "cli/program.h"
#include "report/errors.h"

namespace mixstack::cli {

[[nodiscard]] ExitCode run_dump(const DumpArguments& arguments, const Environment& environment);

/// What was opened and dumped. The session outlives what is asked about the dump.
struct Dumped {
  std::unique_ptr<Session> session;
  ProcessDump dump;
};
/// Opens the process or core that is meant and dumps it. Where that fails, what there is to say has been said.
[[nodiscard]] tl::expected<Dumped, ExitCode> dump_target(const DumpArguments& arguments, const SymbolOptions& symbols,
                                                         const Environment& environment);

/// Whether what goes to `fd` is to have colours.
[[nodiscard]] bool wants_color(ColorMode mode, int fd);

/// The exit code that a problem has.
[[nodiscard]] ExitCode exit_code_of(report::Problem problem);
[[nodiscard]] ExitCode exit_code_of_core(const Error& error);

}  // namespace mixstack::cli
