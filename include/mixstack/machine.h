// The .NET processes of this machine; whether a process can be looked at from here, and what to do where it cannot.
// Nothing is stopped, traced or changed.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mixstack/problem.h"
#include "mixstack/report.h"
#include "mixstack/result.h"

namespace mixstack {

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
  bool as_root = false;  ///< whoever asked was root: each unreadable process is unexpected
};

/// Looks at all processes that /proc shows. Those that end meanwhile are left out. With `interval` 0 there is no
/// `cpu_percent`. Errors: those of reading /proc; unsupported: /proc is that of another pid namespace than ours.
[[nodiscard]] Result<RunningPrograms> running_programs(std::chrono::milliseconds interval);

/// As `mixstack ps` prints it: a table in `width` columns (0: lines as long as they are).
void write_text(const RunningPrograms& found, const ReportSink& sink, std::size_t width = 0);
/// One JSON document.
void write_json(const RunningPrograms& found, const ReportSink& sink);

/// "none", "no_such_process", "permission": the enumerator's name; stable, for programs.
[[nodiscard]] std::string_view problem_name(Problem);

/// One thing that was checked.
struct Finding {
  enum class Verdict : std::uint8_t { ok, note, bad };
  Verdict verdict = Verdict::ok;
  std::string subject;  ///< "yama", "ptrace", "process 4711"
  std::string text;     ///< in one line, fit for a terminal
  std::string remedy;   ///< in one or more lines; empty: none is needed
};

struct Examination {
  bool dump = false;          ///< stacks can be had (of the process that was asked for)
  bool perf_events = false;   ///< CPU samples can be had
  bool without_stop = false;  ///< stacks of blocked threads can be had without a stop (BPF)
  /// Why the process cannot be dumped, or why no process can: permission, foreign_proc.
  Problem problem = Problem::none;
  std::vector<Finding> findings;
};

/// Tries what a dump or a recording needs, on children of our own, and looks at process `pid` (0: the machine alone).
[[nodiscard]] Examination examine(std::uint32_t pid = 0);

/// As `mixstack doctor` prints it.
void write_text(const Examination& examination, const ReportSink& sink);
/// One JSON document.
void write_json(const Examination& examination, const ReportSink& sink);

}  // namespace mixstack
