#include "dotnet/code/allocated_bytes.h"

namespace mixstack::dotnet {

// Counts are of whole allocation contexts: of the last one a part is not used yet (src/coreclr/vm/comutilnative.cpp,
// GCInterface::GetAllocatedBytesForCurrentThread). Objects that do not belong in a context are counted apart.
std::optional<std::uint64_t> allocated_bytes(const RuntimeMemory& memory, Address thread) {
  constexpr std::uint64_t kMostOfContext = std::uint64_t{1} << 32, kMost = std::uint64_t{1} << 56;
  const Layouts& l = memory.layouts();
  const auto& c = l.gc_alloc_context;
  if (!l.runtime_thread_locals.alloc_context || !l.ee_alloc_context.gc_allocation_context) return std::nullopt;
  const auto locals = memory.pointer(thread, l.thread.runtime_thread_locals);
  if (!locals || *locals == 0) return std::nullopt;
  const Address at =
      *locals + l.runtime_thread_locals.alloc_context.offset + l.ee_alloc_context.gc_allocation_context.offset;
  const auto pointer = memory.pointer(at, c.pointer), limit = memory.pointer(at, c.limit);
  const auto small = memory.value<std::uint64_t>(at, c.alloc_bytes),
             large = memory.value<std::uint64_t>(at, c.alloc_bytes_loh);
  if (!pointer || !limit || !small || !large || *small > kMost || *large > kMost || *pointer > *limit)
    return std::nullopt;
  const std::uint64_t unused = *limit - *pointer;
  if (unused > kMostOfContext || unused > *small) return std::nullopt;
  return *small - unused + *large;
}

}  // namespace mixstack::dotnet
