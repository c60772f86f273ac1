// The account of a process's resident memory: every byte under one label.
#pragma once

#include <vector>

#include "features/memory/range_map.h"
#include "mixstack/memory.h"
#include "mixstack/result.h"
#include "mixstack/session.h"

namespace mixstack::memory_use {

/// `managed`: what its runtimes say. Nothing is stopped.
[[nodiscard]] Result<MemoryAccount> account_of(const Target& target, std::vector<ManagedMemory> managed);

/// The labels of an address space, without the pages.
struct LabelledSpace {
  RangeMap map;                    ///< settled; its labels are indexes of `labels`
  std::vector<MemoryLine> labels;  ///< without sizes
  std::vector<Region> regions;
};
[[nodiscard]] Result<LabelledSpace> labelled_space(const Target& target, std::vector<ManagedMemory> managed);

}  // namespace mixstack::memory_use
