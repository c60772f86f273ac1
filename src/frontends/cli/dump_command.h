// `mixstack dump`.
#pragma once

#include <functional>
#include <memory>
#include <tl/expected.hpp>

#include "frontends/cli/arguments.h"
#include "frontends/cli/exit_code.h"
#include "frontends/cli/program.h"
#include "output/report/errors.h"

namespace mixstack::cli {

[[nodiscard]] ExitCode run_dump(const DumpArguments& arguments, const Environment& environment);

/// A process or core that is opened, and looked at as often as one likes.
struct OpenedTarget {
  std::unique_ptr<Session> session;
  /// Says on standard error why a dump of it failed, and answers the exit code for that.
  std::function<ExitCode(const Error&)> complain;
};
/// Opens the process or core of the arguments. Where that fails, the reason has been said.
[[nodiscard]] tl::expected<OpenedTarget, ExitCode> open_target(const DumpArguments& arguments,
                                                               const SymbolOptions& symbols,
                                                               const Environment& environment);

/// A session and its first dump. The session outlives what is asked about the dump.
struct DumpedTarget {
  std::unique_ptr<Session> session;
  ProcessDump dump;
};
/// Opens the process or core of the arguments and dumps it. Where that fails, the reason has been said.
[[nodiscard]] tl::expected<DumpedTarget, ExitCode> dump_target(const DumpArguments& arguments,
                                                               const SymbolOptions& symbols,
                                                               const Environment& environment);

}  // namespace mixstack::cli
