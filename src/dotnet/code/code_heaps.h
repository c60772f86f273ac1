// Where code that the JIT made lies, and the map of it.
#pragma once

#include <vector>

#include "dotnet/contracts/runtime_memory.h"

namespace mixstack::dotnet {

struct CodeHeap {
  AddressRange range;  ///< reserved for code
  AddressRange map;    ///< of its methods' begins; empty: not told
};

/// All code heaps, by the map of code ranges. At most 65,536 of them; what cannot be read is left out.
[[nodiscard]] std::vector<CodeHeap> code_heaps(const RuntimeMemory& memory);

}  // namespace mixstack::dotnet
