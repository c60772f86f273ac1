#include "dotnet/heap/runtime_ranges.h"

#include <algorithm>
#include <set>

#include "base/words/memory_details.h"
#include "dotnet/code/code_heaps.h"
#include "dotnet/code/threads.h"
#include "dotnet/heap/gc_regions.h"
#include "dotnet/heap/loaded_modules.h"

namespace mixstack::dotnet::objects {
namespace {

constexpr std::uint64_t kLeastPage = 4096;
constexpr int kMostLooks = 20;  // at regions that change meanwhile

void add_regions(const GcRegions& gc, std::uint64_t page_bytes, ManagedMemory& out) {
  out.is_known = true;
  out.is_server = gc.is_server;
  out.heaps = gc.heaps;
  if (!gc.has_segments) out.collector = gc.bounds;
  out.objects = gc.bytes;
  out.regions = gc.count;
  for (const GcRegion& r : gc.regions) {
    const std::string generation = generation_name(r.generation);
    // The page of the first object begins with the region's own words.
    out.ranges.push_back({{r.objects.begin & ~(page_bytes - 1), r.objects.end}, MemoryKind::gc_objects, generation});
    if (r.committed > r.objects.end)
      out.ranges.push_back({{r.objects.end, r.committed}, MemoryKind::gc_committed, generation});
  }
  if (!gc.bookkeeping.empty()) out.ranges.push_back({gc.bookkeeping, MemoryKind::gc_bookkeeping, ""});
}

void add_collector(const RuntimeMemory& memory, Address dac_table, std::uint64_t page_bytes, ManagedMemory& out) {
  GcRegionReader reader(memory, dac_table);
  for (int looks = 1;; looks++) {
    auto gc = reader.read();
    if (gc) {
      add_regions(*gc, page_bytes, out);
      return;
    }
    if (looks < kMostLooks) continue;
    out.missing.push_back(gc.error());
    return;
  }
}

void add_code(const RuntimeMemory& memory, ManagedMemory& out) {
  for (const CodeHeap& heap : code_heaps(memory)) {
    out.ranges.push_back({heap.range, MemoryKind::jit_code, ""});
    if (!heap.map.empty()) out.ranges.push_back({heap.map, MemoryKind::jit_code, "map"});
  }
}

/// Blocks of a LoaderHeap (UnlockedLoaderHeap in src/coreclr/utilcode): its second word leads to {next, begin, bytes}.
/// Every block is a whole number of pages, of the smallest that there are, else it is no such heap.
std::vector<AddressRange> blocks_of(const RuntimeMemory& memory, Address heap) {
  constexpr std::size_t kMostBlocks = 1 << 16;
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 32;
  std::vector<AddressRange> blocks;
  Address at = memory.pointer_at(heap + 8).value_or(0);
  while (at != 0 && blocks.size() < kMostBlocks) {
    const auto next = memory.pointer_at(at), begin = memory.pointer_at(at + 8), size = memory.pointer_at(at + 16);
    const bool is_block = next && begin && size && at % 8 == 0 && *begin % kLeastPage == 0 && *begin != 0 &&
                          *size % kLeastPage == 0 && *size != 0 && *size < kMostBytes;
    if (!is_block) return {};
    blocks.push_back({*begin, *begin + *size});
    at = *next;
  }
  return blocks;
}

/// The fields behind the two heaps that are described lead to the others, of the same shape.
void add_heaps_of(const RuntimeMemory& memory, Address allocator, bool is_global, ManagedMemory& out) {
  constexpr std::uint32_t kBehind = 72;
  const Field low = memory.layouts().loader_allocator.low_frequency_heap,
              high = memory.layouts().loader_allocator.high_frequency_heap;
  const std::uint32_t first = std::min(low.offset, high.offset);
  for (std::uint32_t offset = first; offset < first + kBehind; offset += 8) {
    const Address heap = memory.pointer_at(allocator + offset).value_or(0);
    if (heap == 0 || heap % 8 != 0) continue;
    const char* name = !is_global              ? "collectible"
                       : offset == low.offset  ? "low frequency"
                       : offset == high.offset ? "high frequency"
                                               : "other";
    for (const AddressRange& block : blocks_of(memory, heap))
      out.ranges.push_back({block, MemoryKind::loader_heap, name});
  }
}

/// Each collectible context has an allocator of its own; all others share one.
void add_loader_heaps(const RuntimeMemory& memory, ManagedMemory& out) {
  const Layouts& l = memory.layouts();
  const auto domain = memory.through(l.globals.system_domain);
  const bool is_described = l.loader_allocator.low_frequency_heap && l.loader_allocator.high_frequency_heap &&
                            l.system_domain.global_loader_allocator;
  if (!domain || *domain == 0 || !is_described) {
    out.missing.push_back(
        {{ErrorCode::field_unavailable, 0, 0}, "LoaderAllocator", "heaps of the loader are not told"});
    return;
  }
  const Address global = *domain + l.system_domain.global_loader_allocator.offset;
  add_heaps_of(memory, global, true, out);
  std::set<Address> seen{0, global};
  for (const Address module : loaded_modules(memory)) {
    const Address allocator = memory.pointer(module, l.module.loader_allocator).value_or(0);
    if (allocator % 8 == 0 && seen.insert(allocator).second) add_heaps_of(memory, allocator, false, out);
  }
}

/// Assemblies as they lie in memory. Those of files are mapped; others, of a compressed single file or loaded from
/// bytes, are copies that the runtime has made. PEImage has its layouts one behind the other, the flat one first
/// (PEImage::m_pLayouts in src/coreclr/vm/peimage.h).
void add_images(const RuntimeMemory& memory, ManagedMemory& out) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 31, kLeastBytes = 64;
  const Layouts& l = memory.layouts();
  std::set<Address> seen;
  for (const Address module : loaded_modules(memory)) {
    const Address assembly = memory.pointer(module, l.module.pe_assembly).value_or(0);
    const Address image = assembly != 0 ? memory.pointer(assembly, l.pe_assembly.pe_image).value_or(0) : 0;
    if (image == 0 || !l.pe_image.loaded_image_layout) continue;
    const Address loaded = image + l.pe_image.loaded_image_layout.offset;
    for (const Address slot : {loaded, loaded - 8}) {
      const Address layout = memory.pointer_at(slot).value_or(0);
      if (layout == 0 || layout % 8 != 0 || !seen.insert(layout).second) continue;
      const Address base = memory.pointer(layout, l.pe_image_layout.base).value_or(0);
      const auto size = memory.value<std::uint32_t>(layout, l.pe_image_layout.size);
      const bool is_image = base % 16 == 0 && base >= kLeastPage && size && *size >= kLeastBytes &&
                            *size < kMostBytes &&
                            memory.reader().read<std::uint16_t>(base) == std::uint16_t{0x5a4d};  // "MZ"
      if (is_image)
        out.ranges.push_back({{base, base + *size}, MemoryKind::loader_heap, std::string(kUnpackedAssemblies)});
    }
  }
}

void add_stacks(const RuntimeMemory& memory, ManagedMemory& out) {
  for (const ManagedThread& thread : read_threads(memory).threads)
    if (thread.os_id != 0 && !thread.is_dead() && !thread.stack.empty()) out.stacks.push_back(thread.stack);
}

}  // namespace

ManagedMemory collector_ranges(const RuntimeMemory& memory, std::uint64_t page_bytes) {
  ManagedMemory out;
  add_collector(memory, 0, page_bytes, out);
  return out;
}

ManagedMemory runtime_ranges(const RuntimeMemory& memory, Address dac_table, std::uint64_t page_bytes) {
  ManagedMemory out;
  add_collector(memory, dac_table, page_bytes, out);
  add_code(memory, out);
  add_loader_heaps(memory, out);
  add_images(memory, out);
  add_stacks(memory, out);
  return out;
}

}  // namespace mixstack::dotnet::objects
