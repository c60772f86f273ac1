// Facts from /proc about a process that could not be dumped, and about ourselves.
#pragma once

#include <cstdint>

#include "output/report/errors.h"

namespace mixstack::machine {

/// Capabilities for recording every process without a stop, as in setcap(8): BPF, perf events, reading memory.
inline constexpr char kRecordCapabilities[] = "cap_bpf,cap_perfmon,cap_sys_ptrace";

/// Never fails: facts that cannot be read keep their defaults.
[[nodiscard]] report::RefusalFacts read_refusal_facts(std::uint32_t pid);

/// Whether a seccomp filter on us can be the cause of a refusal: the kernel's earlier checks would pass. Call it before
/// trying the system call, because a filter may kill the caller.
[[nodiscard]] bool filter_could_be_why(const report::RefusalFacts& facts);

}  // namespace mixstack::machine
