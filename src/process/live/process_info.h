// Facts of a process: executable, command line, auxiliary vector, CPU.
#pragma once

#include "mixstack/result.h"
#include "mixstack/target.h"
#include "process/kernel/elf_facts.h"
#include "process/live/proc_dir.h"

namespace mixstack::process {

/// Errors: no_such_process (gone or a zombie), permission_denied, unsupported (a kernel thread), unsupported_cpu.
[[nodiscard]] Result<TargetInfo> read_process_info(const ProcDir& proc);

}  // namespace mixstack::process
