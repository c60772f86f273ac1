// Where the stack of a thread ends inside of a mapping that may hold others' memory, too.
#pragma once

#include "mixstack/memory_reader.h"
#include "mixstack/target.h"

namespace mixstack::memory_use {

/// A mapping that stacks may lie in.
[[nodiscard]] inline bool is_of_stacks(const Region& r) {
  return r.writable && !r.shared && (r.path.empty() || r.path.starts_with("[stack"));
}

/// The stack that `sp` points into: from the begin of its mapping to its end as the block says that glibc keeps of each
/// thread above the stack, else the whole mapping. The kernel makes one mapping of a stack and of what lies right above
/// it. Bounded.
[[nodiscard]] AddressRange stack_of(const MemoryReader& memory, const Region& mapping, Address sp,
                                    std::uint64_t page_bytes, Arch arch);

}  // namespace mixstack::memory_use
