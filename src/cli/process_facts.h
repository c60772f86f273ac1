// What /proc says of a process that could not be dumped, and of ourselves.
#pragma once

#include <cstdint>

#include "report/errors.h"

namespace mixstack::cli {

/// Reads what can be read; what cannot stays at its default. Never fails.
[[nodiscard]] report::ProcessFacts read_process_facts(std::uint32_t pid);

/// Whether a refusal can come of a seccomp filter on us: nothing that the kernel asks before stood in the way. To be
/// asked before a try, since a filter may kill who tries.
[[nodiscard]] bool filter_could_be_why(const report::ProcessFacts& facts);

}  // namespace mixstack::cli
