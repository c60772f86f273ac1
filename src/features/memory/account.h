// The account of a process's resident memory: every byte under one label.
#pragma once

#include <vector>

#include "mixstack/memory.h"
#include "mixstack/result.h"
#include "mixstack/session.h"

namespace mixstack::memory_use {

/// `managed`: what its runtimes say. Nothing is stopped.
[[nodiscard]] Result<MemoryAccount> account_of(const Target& target, std::vector<ManagedMemory> managed);

}  // namespace mixstack::memory_use
