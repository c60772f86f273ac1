// What /proc says of a process that could not be dumped, and of ourselves.
#pragma once

#include <cstdint>

#include "report/errors.h"

namespace mixstack::cli {

/// Reads what can be read; what cannot stays at its default. Never fails.
[[nodiscard]] report::ProcessFacts read_process_facts(std::uint32_t pid);

}  // namespace mixstack::cli
