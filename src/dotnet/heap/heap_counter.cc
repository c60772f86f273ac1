#include "dotnet/heap/heap_counter.h"

#include <algorithm>

#include "base/memory/cached_memory.h"

namespace mixstack::dotnet::objects {

void HeapCounter::add(const GcRegion& region, const RegionCount& count) {
  const auto generation = static_cast<std::size_t>(region.generation);
  totals_.resize(sizes_.size());
  for (const TypeSum& sum : count.sums) {
    totals_[sum.type].count.at(generation) += sum.count;
    totals_[sum.type].bytes.at(generation) += sum.bytes;
  }
  if (count.elements) elements_.push_back(count.elements);
}

void HeapCounter::watch_elements(bool data, std::size_t most_texts) {
  if (names_ != nullptr) types_ = std::make_unique<LoadedTypes>(memory_, *names_);
  const Address string = memory_.through(memory_.layouts().globals.string_method_table).value_or(0);
  element_counter_ = std::make_unique<ElementCounter>(sizes_, types_.get(), string, data, most_texts);
  walk_.watch(element_counter_.get());
}

HeapTypes HeapCounter::take(const GcRegions& gc) {
  const memory::CachedMemory now(memory_.reader());
  std::optional<LoadedTypes> types;
  if (names_ != nullptr) types.emplace(memory_.with(now), *names_);
  HeapTypes out;
  out.is_server = gc.is_server;
  out.heaps = gc.heaps;
  for (std::size_t i = 0; i < totals_.size(); i++) {
    TypeCount& one = totals_[i];
    if (one.all() == 0) continue;
    const ObjectSizes::Type& type = sizes_[static_cast<std::uint32_t>(i)];
    one.method_table = type.method_table;
    one.is_free = type.is_free;
    if (type.is_free) {
      out.free_bytes += one.all_bytes();
    } else {
      one.type = types ? types->csharp_name(type.method_table) : type_names_->name(type.method_table);
      out.objects += one.all();
      out.bytes += one.all_bytes();
      for (std::size_t g = 0; g < kHeapGenerations; g++) out.bytes_of.at(g) += one.bytes.at(g);
    }
    out.types.push_back(std::move(one));
  }
  std::sort(out.types.begin(), out.types.end(), [](const TypeCount& a, const TypeCount& b) {
    const std::uint64_t left = a.all_bytes(), right = b.all_bytes();
    return left != right ? left > right : a.method_table < b.method_table;
  });
  if (element_counter_) out.elements = elements_of(elements_);
  clear();
  return out;
}

}  // namespace mixstack::dotnet::objects
