// Exit codes of the command. Stable: scripts depend on them. Documented in docs/exit-codes.md and --help.
#pragma once

#include <string_view>

#include "mixstack/problem.h"
#include "mixstack/result.h"

namespace mixstack::cli {

enum class ExitCode : int {
  ok = 0,
  internal = 1,         ///< a fault of mixstack or of the system, other than those below
  usage = 2,            ///< the command line is wrong
  no_such_process = 3,  ///< no process with this PID, or it ended before it could be stopped
  permission = 4,       ///< the kernel does not let this user trace the process
  already_traced = 5,   ///< another tracer (gdb, strace) is attached
  unsupported = 6,      ///< kernel thread, zombie, 32-bit process or a CPU mixstack does not know
  partial = 7,          ///< printed, but threads or the managed side of a runtime are missing
  process_changed = 8,  ///< it exited or became another program while it was being read
  output = 9,           ///< the report could not be written
  resources = 10,       ///< too little memory, too few file descriptors or threads, or /proc missing or foreign
  stuck = 11,           ///< `why` found something that is stuck
  may_end = 12,         ///< `why` found waits for each other that end by their own time-out
};

/// Its name in docs/exit-codes.md: "no_such_process".
[[nodiscard]] std::string_view exit_code_name(ExitCode code);

/// The exit code of a problem.
[[nodiscard]] ExitCode exit_code_of(Problem problem);
/// The exit code of an error of reading a core.
[[nodiscard]] ExitCode exit_code_of_core(const Error& error);
/// The exit code of an error of the agent's client.
[[nodiscard]] ExitCode exit_code_of_agent(const Error& error);

}  // namespace mixstack::cli
