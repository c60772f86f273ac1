// The .NET processes of this machine, as far as we may look into processes. Nothing is stopped or traced.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mixstack/result.h"

namespace mixstack::machine {

/// Where a program has its runtime from.
enum class Hosting : std::uint8_t {
  framework_dependent,  ///< of the machine: .../shared/Microsoft.NETCore.App
  self_contained,       ///< beside the program
  single_file,          ///< inside the program's executable
  native_aot,           ///< compiled with it: there is no JIT
  unknown,
};
/// "framework", "self-contained", "single-file", "native-aot", "unknown": stable, for programs.
[[nodiscard]] std::string_view hosting_name(Hosting);

struct RunningProgram {
  std::uint32_t pid = 0;
  std::string version;  ///< of the runtime, "10.0.12"; empty when not known
  Hosting hosting = Hosting::unknown;
  std::uint32_t uid = 0;
  std::string user;       ///< empty: the number has no name here
  std::string container;  ///< id of the container it runs in, 12 digits; empty: none known
  std::uint32_t threads = 0;
  double cpu_percent = 0;  ///< of one processor, over the interval that was asked for
  double cpu_seconds = 0;  ///< since it started
  std::chrono::seconds uptime{0};
  std::string comm;
  std::string executable;                 ///< as the process sees it
  std::vector<std::string> command_line;  ///< as the process keeps it, which may be anything; at most 4 KiB

  /// Names that a person calls it by: the kernel's, that of the executable, that of the assembly it runs.
  [[nodiscard]] bool is_called(std::string_view name) const;
};

/// One that could not be looked into.
struct UnreadableProcess {
  std::uint32_t pid = 0;
  std::string comm;
  int os_error = 0;  ///< why: what opening its list of mappings answered
};

struct RunningPrograms {
  std::vector<RunningProgram> programs;  ///< by pid
  std::vector<UnreadableProcess> not_readable;
};

/// Looks at all processes that /proc shows. Those that end meanwhile are left out. With `interval` 0 there is no
/// `cpu_percent`. Errors: those of reading /proc; that of base/system/proc_mount.h.
[[nodiscard]] Result<RunningPrograms> running_programs(std::chrono::milliseconds interval);

}  // namespace mixstack::machine
