#include "dotnet/code/code_heaps.h"

#include <algorithm>
#include <array>
#include <span>
#include <unordered_set>

namespace mixstack::dotnet {
namespace {

// RangeSectionMap (src/coreclr/vm/codeman.h): five levels of 256 entries; bit 0 of a pointer marks collectible parts.
constexpr unsigned kLevels = 5;
constexpr std::size_t kEntries = 256, kMostTables = 1 << 14, kMostFragments = 1 << 18, kMostHeaps = 1 << 16;
constexpr std::uint32_t kCodeHeap = 2;       // RangeSection::RangeSectionFlags
constexpr std::uint64_t kBytesOfEntry = 64;  // of the map: four bits for 32 bytes of code
constexpr std::uint64_t kPage = 4096;

class Finder {
 public:
  explicit Finder(const RuntimeMemory& memory) : memory_(memory) {}

  void table(Address at, unsigned level) {
    if (++tables_ > kMostTables) return;
    std::array<std::uint64_t, kEntries> entries{};
    if (!memory_.reader().read_exact(at, std::as_writable_bytes(std::span(entries)))) return;
    for (const std::uint64_t entry : entries) {
      const Address next = entry & ~Address{1};
      if (next == 0) continue;
      level == 1 ? fragments(next) : table(next, level - 1);
    }
  }
  [[nodiscard]] std::vector<CodeHeap> take() { return std::move(found_); }

 private:
  void fragments(Address at) {
    const auto& l = memory_.layouts().range_section_fragment;
    while (at != 0 && ++fragments_ < kMostFragments) {
      const auto section = memory_.pointer(at, l.range_section), next = memory_.pointer(at, l.next);
      if (!section || !next) return;
      if (seen_.insert(*section).second) add(*section);
      at = *next & ~Address{1};
    }
  }

  void add(Address section) {
    const Layouts& l = memory_.layouts();
    const auto begin = memory_.pointer(section, l.range_section.range_begin);
    const auto end = memory_.pointer(section, l.range_section.range_end_open);
    const auto flags = memory_.value<std::uint32_t>(section, l.range_section.flags);
    const auto heap = memory_.pointer(section, l.range_section.heap_list);
    if (!begin || !end || !flags || !heap || (*flags & kCodeHeap) == 0 || *heap == 0 || *end <= *begin) return;
    if (found_.size() == kMostHeaps) return;
    CodeHeap out{{*begin, *end}, {}};
    if (const auto map = memory_.pointer(*heap, l.code_heap_list_node.header_map); map && *map != 0)
      out.map = {*map & ~(kPage - 1), (*map + (*end - *begin) / kBytesOfEntry + kPage - 1) & ~(kPage - 1)};
    found_.push_back(out);
  }

  const RuntimeMemory& memory_;
  std::size_t tables_ = 0, fragments_ = 0;
  std::unordered_set<Address> seen_;
  std::vector<CodeHeap> found_;
};

}  // namespace

std::vector<CodeHeap> code_heaps(const RuntimeMemory& memory) {
  const Layouts& l = memory.layouts();
  if (memory.pointer_size() != 8 || !l.globals.code_range_map || !l.range_section_map.top_level_data) return {};
  Finder finder(memory);
  finder.table(l.globals.code_range_map.value + l.range_section_map.top_level_data.offset, kLevels);
  return finder.take();
}

}  // namespace mixstack::dotnet
