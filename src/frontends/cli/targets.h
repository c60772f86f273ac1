// Opens whatever a command looks at: processes by PID or name, cores, with the places of their symbols. Where something
// fails, the reason has been said on standard error, and the answer is the exit code.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "frontends/cli/arguments.h"
#include "frontends/cli/exit_code.h"
#include "frontends/cli/program.h"
#include "mixstack/symbol_files.h"

namespace mixstack::cli {

/// --symbol-path, else the environment (features/symbols/usual_places.h).
[[nodiscard]] SymbolOptions symbol_options(const DumpArguments& arguments);
/// Warns on standard error of folders of the symbol path that cannot be opened: a mistyped one would silently have no
/// symbols.
void warn_of_missing_folders(const SymbolOptions& options, const Environment& environment);

/// A process or core that is opened, and looked at as often as one likes.
struct OpenedTarget {
  std::unique_ptr<Session> session;
  /// Says on standard error why a dump of it failed, and answers the exit code for that.
  std::function<ExitCode(const Error&)> complain;
};
[[nodiscard]] tl::expected<OpenedTarget, ExitCode> open_target(const DumpArguments& arguments,
                                                               const SymbolOptions& symbols,
                                                               const Environment& environment);
/// The same for a process or core with usual options; a name must be of one process. `subject` gets its PID.
[[nodiscard]] tl::expected<OpenedTarget, ExitCode> open_subject(Subject& subject, const Environment& environment);

/// A session and its first dump. The session outlives what is asked about the dump.
struct DumpedTarget {
  std::unique_ptr<Session> session;
  ProcessDump dump;
};
[[nodiscard]] tl::expected<DumpedTarget, ExitCode> dump_target(const DumpArguments& arguments,
                                                               const SymbolOptions& symbols,
                                                               const Environment& environment);

/// The PIDs of the .NET processes called `name`, at least one. If there is none, the names of the others are said.
[[nodiscard]] tl::expected<std::vector<std::uint32_t>, ExitCode> pids_called(const std::string& name,
                                                                             const Environment& environment);
/// Says that there is no list of processes.
ExitCode complain_of_list(const Environment& environment, const Error& error);

}  // namespace mixstack::cli
