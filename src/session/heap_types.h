// Objects of a heap by type, at one moment.
#pragma once

#include <functional>
#include <optional>

#include "dotnet/heap/heap_counter.h"
#include "mixstack/memory.h"
#include "mixstack/memory_reader.h"

namespace mixstack::session {

/// The counting borrows all of it.
struct TypeCounting {
  std::uint32_t pid = 0;
  const MemoryReader& memory;  ///< of the target, past all caches
  bool is_frozen = false;      ///< of a core
  dotnet::objects::HeapCounter& counter;
  /// Collections of generation 1 and above since the process began: only these move what is old. Nothing: not known.
  std::function<std::optional<std::uint64_t>()> old_collections;
  HeapTypesOptions options;
};

/// Never fails: an answer without types says why.
[[nodiscard]] HeapTypes count_heap_types(const TypeCounting& of);
/// The same for a core, which is one moment by itself.
[[nodiscard]] HeapTypes count_core_types(const TypeCounting& of);

}  // namespace mixstack::session
