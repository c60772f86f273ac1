// What a process is: executable, command line, auxiliary vector, CPU.
#pragma once

#include <span>

#include "mixstack/result.h"
#include "mixstack/target.h"
#include "target/live/proc_dir.h"

namespace mixstack::target {

/// The CPU of an ELF header's first bytes (gABI: EI_CLASS, EI_DATA, e_machine), which is `unsupported_cpu` with the
/// e_machine as value when it is 32-bit, big-endian or unknown, and `malformed` when it is no ELF header.
[[nodiscard]] Result<Arch> arch_of_elf_header(std::span<const std::byte> header);

/// Fills entry point, program headers, vDSO and page size from /proc/PID/auxv. Unknown entries are skipped.
void parse_auxv(std::span<const std::byte> auxv, TargetInfo& info);

/// Errors: no_such_process (gone or a zombie), permission_denied, unsupported (a kernel thread), unsupported_cpu.
[[nodiscard]] Result<TargetInfo> read_process_info(const ProcDir& proc);

}  // namespace mixstack::target
