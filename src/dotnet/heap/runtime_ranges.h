// The ranges of the address space that a runtime uses: regions of its collector, code, heaps of its loader.
#pragma once

#include "dotnet/contracts/runtime_memory.h"
#include "mixstack/memory.h"

namespace mixstack::dotnet::objects {

/// `page_bytes` are the target's. Reads while the process runs; parts that cannot be read are named in `missing`.
/// Everything is bounded.
[[nodiscard]] ManagedMemory runtime_ranges(const RuntimeMemory& memory, Address dac_table, std::uint64_t page_bytes);

/// The collector's alone: of NativeAOT, which has it in common with CoreCLR (.NET 11 describes it there, too).
[[nodiscard]] ManagedMemory collector_ranges(const RuntimeMemory& memory, std::uint64_t page_bytes);

}  // namespace mixstack::dotnet::objects
