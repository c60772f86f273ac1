// `mixstack dump`.
#pragma once

#include <memory>
#include <tl/expected.hpp>

#include "frontends/cli/arguments.h"
#include "frontends/cli/exit_code.h"
#include "frontends/cli/program.h"
#include "output/report/errors.h"

namespace mixstack::cli {

[[nodiscard]] ExitCode run_dump(const DumpArguments& arguments, const Environment& environment);

/// A dump and its session, which later questions about the dump need.
struct Dumped {
  std::unique_ptr<Session> session;
  ProcessDump dump;
};
/// Opens the chosen process or core and dumps it. A failure has been reported to the user already.
[[nodiscard]] tl::expected<Dumped, ExitCode> dump_target(const DumpArguments& arguments, const SymbolOptions& symbols,
                                                         const Environment& environment);

/// Whether output to `fd` has colours.
[[nodiscard]] bool wants_color(ColorMode mode, int fd);

/// The exit code of a problem.
[[nodiscard]] ExitCode exit_code_of(report::Problem problem);
[[nodiscard]] ExitCode exit_code_of_core(const Error& error);

}  // namespace mixstack::cli
