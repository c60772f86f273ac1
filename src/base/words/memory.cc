#include "mixstack/memory.h"

#include <numeric>
#include <string_view>

#include "mixstack/memory_moment.h"

namespace mixstack {

const char* generation_name(HeapGeneration generation) {
  constexpr std::array<const char*, kHeapGenerations> kNames{"0", "1", "2", "large", "pinned", "frozen"};
  return kNames.at(static_cast<std::size_t>(generation));
}

const char* to_string(MemoryKind kind) {
  constexpr std::array<const char*, static_cast<std::size_t>(MemoryKind::count)> kNames{
      "gc_objects",      "gc_committed",  "gc_bookkeeping", "gc_other",      "jit_code",
      "loader_heap",     "runtime_stubs", "malloc_used",    "malloc_free",   "malloc_large",
      "malloc_unwalked", "malloc_other",  "stack",          "file_assembly", "file_program",
      "file_other",      "shared",        "kernel",         "unknown"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::optional<MemoryKind> memory_kind_called(std::string_view word) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(MemoryKind::count); i++)
    if (to_string(static_cast<MemoryKind>(i)) == word) return static_cast<MemoryKind>(i);
  return std::nullopt;
}

std::uint64_t TypeCount::all() const { return std::accumulate(count.begin(), count.end(), std::uint64_t{0}); }

std::uint64_t TypeCount::all_bytes() const { return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0}); }

}  // namespace mixstack
