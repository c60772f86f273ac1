// Where the memory of a process is, and the objects of its managed heaps by type, as plain data. Sizes are in bytes.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mixstack/address.h"
#include "mixstack/diagnosis.h"
#include "mixstack/gc_heap.h"
#include "mixstack/heap_elements.h"

namespace mixstack {

/// The parts of a managed heap. Frozen objects are never collected; large and pinned ones have parts of their own.
enum class HeapGeneration : std::uint8_t { zero, one, two, large, pinned, frozen };
inline constexpr std::size_t kHeapGenerations = 6;
/// "0", "1", "2", "large", "pinned", "frozen".
[[nodiscard]] const char* generation_name(HeapGeneration generation);

/// The use of a piece of memory. `MemoryLine::detail` says more.
enum class MemoryKind : std::uint8_t {
  gc_objects,       ///< detail: the generation
  gc_committed,     ///< behind the objects of a region: the collector keeps it for new ones; detail: the generation
  gc_bookkeeping,   ///< cards, marks and the map of regions
  gc_other,         ///< of the collector's range, in no region: regions that it has freed
  jit_code,         ///< methods compiled at run time, and their map
  loader_heap,      ///< types, methods, stubs; detail: the heap
  runtime_stubs,    ///< executable memory of the runtime that is none of the above
  malloc_used,      ///< glibc: chunks in use
  malloc_free,      ///< glibc: chunks freed and kept, and room above the last one
  malloc_large,     ///< glibc: blocks with a mapping of their own
  malloc_unwalked,  ///< glibc: an arena that changed while it was read
  malloc_other,     ///< anonymous memory of native code, where malloc is not glibc's; detail: the allocator
  stack,            ///< of threads
  file_assembly,    ///< files of managed code
  file_program,     ///< files of native code and their data
  file_other,       ///< other mapped files
  shared,           ///< shared memory
  kernel,           ///< pages that the kernel maps into every process
  unknown,          ///< nobody claims it
  count
};
/// "gc_objects", as in JSON.
[[nodiscard]] const char* to_string(MemoryKind kind);

/// A range whose use a runtime knows.
struct LabelledRange {
  AddressRange range;
  MemoryKind kind = MemoryKind::unknown;
  std::string detail;
};

/// One runtime's own account of its memory. Read while the process runs, so that parts may be of moments some
/// microseconds apart.
struct ManagedMemory {
  std::string version;  ///< of the runtime; empty: not known
  std::vector<LabelledRange> ranges;
  AddressRange collector;                                 ///< in which all regions lie, most of it never committed
  std::vector<AddressRange> stacks;                       ///< of managed threads
  std::array<std::uint64_t, kHeapGenerations> objects{};  ///< bytes in use by generation, garbage and gaps included
  std::array<std::uint32_t, kHeapGenerations> regions{};  ///< number of regions by generation
  std::uint32_t heaps = 0;
  bool is_server = false;
  bool is_known = false;           ///< the collector's regions were found
  std::vector<Diagnosis> missing;  ///< the parts that could not be read
};

/// One line of the account.
struct MemoryLine {
  MemoryKind kind = MemoryKind::unknown;
  std::string detail;
  std::uint64_t resident = 0;
  std::uint64_t size = 0;  ///< of address space that is readable, resident or not
};

/// The largest pieces that nobody claims.
struct UnknownPiece {
  AddressRange mapping;
  std::string rights, path;
  std::uint64_t resident = 0;
};

/// An arena of glibc's malloc.
struct MallocArena {
  Address address = 0;
  bool is_main = false;
  bool is_whole = true;  ///< false: it changed while it was read
  std::uint32_t heaps = 0;
  std::uint64_t used = 0, free = 0;  ///< resident or not
  std::uint64_t used_chunks = 0, free_chunks = 0;
};

/// Every byte that is resident, under one label.
struct MemoryAccount {
  std::vector<MemoryLine> lines;         ///< largest first; their `resident` add up to the one below
  std::uint64_t resident = 0;            ///< pages of the process that are in memory, as they were read
  std::uint64_t resident_by_kernel = 0;  ///< the kernel's own sum right before; other where pages came or went
  std::uint64_t swapped = 0;
  std::optional<std::uint64_t> limit{};  ///< of its cgroup
  std::optional<std::uint64_t> used_of_limit{};
  std::string allocator;  ///< "glibc"; another library's name; empty: none was recognised
  std::vector<MallocArena> arenas;
  std::vector<UnknownPiece> unknown;   ///< largest first, at most 10
  std::vector<ManagedMemory> managed;  ///< one for each runtime
  std::vector<Diagnosis> diagnoses;
};

/// Objects of one type.
struct TypeCount {
  Address method_table = 0;
  std::string type;                                              ///< C# name; empty: not known
  bool is_free = false;                                          ///< no objects, but gaps between them
  std::array<std::uint64_t, kHeapGenerations> count{}, bytes{};  ///< by HeapGeneration
  [[nodiscard]] std::uint64_t all() const;
  [[nodiscard]] std::uint64_t all_bytes() const;
};

/// The objects of one runtime's heap, garbage that was not collected yet included.
struct HeapTypes {
  std::vector<TypeCount> types;                            ///< most bytes first
  std::uint64_t objects = 0, bytes = 0;                    ///< without gaps
  std::uint64_t free_bytes = 0;                            ///< gaps
  std::array<std::uint64_t, kHeapGenerations> bytes_of{};  ///< by HeapGeneration, without gaps
  bool is_server = false;
  std::uint32_t heaps = 0;
  /// Every region ended where it says, with valid types only, and all of them are of one moment.
  bool is_exact = false;
  std::string why_not;                ///< where not: in words
  std::chrono::nanoseconds pause{0};  ///< how long the process was stopped, the longest stop; 0: a core
  std::uint32_t stops = 0;
  std::uint64_t copied_in_stop = 0;
  std::optional<HeapElements> elements{};  ///< where they were asked for
};

struct HeapTypesOptions {
  /// A stop ends when it has lasted so long, whatever was read by then.
  std::chrono::milliseconds most_pause{50};
  /// Generation 2 and frozen objects alone, after a background collection has ended: nothing is stopped for it.
  bool old_only = false;
  bool elements = false;  ///< also what is said of strings, arrays and lists
  bool data = false;      ///< with `elements`: also the begin of what strings hold that are there often
};

}  // namespace mixstack
