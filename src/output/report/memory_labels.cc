// Each label of the account: what it grows by, and what shrinks it: docs/memory.md has the same table.
#include <array>

#include "output/report/memory.h"

namespace mixstack::report {
namespace {

struct LabelWords {
  MemoryKind kind;
  std::string_view grows, shrinks;
};

constexpr std::array<LabelWords, static_cast<std::size_t>(MemoryKind::count)> kLabels{{
    {MemoryKind::gc_objects, "objects that are held, and garbage until it is collected",
     "a collection, once nobody holds them"},
    {MemoryKind::gc_committed, "allocation between collections",
     "later collections; DOTNET_GCConserveMemory, DOTNET_GCHeapHardLimit"},
    {MemoryKind::gc_bookkeeping, "the heap's size", "a smaller heap"},
    {MemoryKind::gc_other, "regions that a collection has freed", "the collector gives them back after some time"},
    {MemoryKind::jit_code, "methods that run for the first time, generic instances, tiers",
     "unloading of collectible contexts; nothing else"},
    {MemoryKind::loader_heap, "types, generic instances, dynamic code, assemblies that are loaded again",
     "unloading of collectible contexts; nothing else"},
    {MemoryKind::runtime_stubs, "methods, delegates and calls of native code", ""},
    {MemoryKind::malloc_used, "native libraries and the runtime that allocate", "free"},
    {MemoryKind::malloc_free, "peaks of native allocation in many threads", "MALLOC_ARENA_MAX, malloc_trim"},
    {MemoryKind::malloc_large, "native blocks of 128 kB and more", "free, at once"},
    {MemoryKind::malloc_unwalked, "native allocation", "free"},
    {MemoryKind::malloc_other, "native libraries and the runtime that allocate, or map memory for themselves",
     "free, as far as the allocator gives pages back"},
    {MemoryKind::stack, "threads, and deep calls once made", "the end of threads"},
    {MemoryKind::file_assembly, "use of more code", "the kernel drops what was not written to"},
    {MemoryKind::file_program, "use of more code, and its data", "the kernel drops what was not written to"},
    {MemoryKind::file_other, "reading of mapped files", "the kernel drops what was not written to"},
    {MemoryKind::shared, "pages written by any of its processes", "the last process that unmaps it"},
    {MemoryKind::kernel, "", ""},
    {MemoryKind::unknown, "native code that maps memory for itself, other allocators", ""},
}};

const LabelWords& words_of(MemoryKind kind) {
  for (const LabelWords& w : kLabels)
    if (w.kind == kind) return w;
  return kLabels.back();
}

}  // namespace

std::string_view grows_by(MemoryKind kind) { return words_of(kind).grows; }
std::string_view shrinks_by(MemoryKind kind) { return words_of(kind).shrinks; }

}  // namespace mixstack::report
