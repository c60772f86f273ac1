// The commands that do more than print a text: each does what its arguments say, and answers an exit code. Results go
// to `environment.out`, what is wrong to `environment.err`.
#pragma once

#include "frontends/cli/arguments.h"
#include "frontends/cli/exit_code.h"
#include "frontends/cli/program.h"

namespace mixstack::cli {

[[nodiscard]] ExitCode run_dump(const DumpArguments& arguments, const Environment& environment);
[[nodiscard]] ExitCode run_why(const WhyArguments& arguments, const Environment& environment);
[[nodiscard]] ExitCode run_memory(const MemoryArguments& arguments, const Environment& environment);
/// Answers a number: the exit status of a program that was started is its own.
[[nodiscard]] int run_record(const RecordArguments& arguments, const Environment& environment);
[[nodiscard]] ExitCode run_top(const TopArguments& arguments, const Environment& environment);
[[nodiscard]] ExitCode run_convert(const ConvertArguments& arguments, const Environment& environment);
[[nodiscard]] ExitCode run_diff(const DiffArguments& arguments, const Environment& environment);
/// Serves the page on a loopback port until a signal ends it. A rewritten file is shown again.
[[nodiscard]] ExitCode run_view(const ViewArguments& arguments, const Environment& environment);
[[nodiscard]] ExitCode run_agent(const AgentArguments& arguments, const Environment& environment);
[[nodiscard]] ExitCode run_ps(const PsArguments& arguments, const Environment& environment);
[[nodiscard]] ExitCode run_doctor(const DoctorArguments& arguments, const Environment& environment);
[[nodiscard]] ExitCode run_symbols(const SymbolsArguments& arguments, const Environment& environment);
[[nodiscard]] ExitCode run_pack(const PackArguments& arguments, const Environment& environment);

}  // namespace mixstack::cli
