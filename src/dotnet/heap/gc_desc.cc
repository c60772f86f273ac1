#include "dotnet/heap/gc_desc.h"

namespace mixstack::dotnet::objects {
namespace {

// MethodTable::m_dwFlags (src/coreclr/vm/methodtable.h).
constexpr std::uint32_t kContainsReferences = 0x01000000, kHasComponents = 0x80000000, kComponentSize = 0xffff;
constexpr std::uint64_t kMostOffset = 1 << 28;  // no type is larger

}  // namespace

/// Pairs below the count: a length, from which the object's own size was subtracted, and an offset.
bool GcDesc::read_runs(const RuntimeMemory& memory, Address method_table, std::int64_t count) {
  std::vector<Run> below(static_cast<std::size_t>(count));
  const Address lowest = method_table - kWord - 16 * static_cast<std::uint64_t>(count);
  if (!memory.reader().read_exact(lowest, std::as_writable_bytes(std::span(below)))) return false;
  for (const Run& r : below) {
    const auto subtracted = 0 - r.size;
    if (r.offset < kWord || r.offset % kWord != 0 || r.offset > kMostOffset) return false;
    if (r.size % kWord != 0 || subtracted > kMostOffset) return false;
  }
  runs_.assign(below.rbegin(), below.rend());
  return true;
}

/// Below the count the offset of the first element, below that pairs of 32 bits. All of them together are one element.
bool GcDesc::read_elements(const RuntimeMemory& memory, Address method_table, std::int64_t count,
                           std::uint32_t stride) {
  struct Pair {
    std::uint32_t words, skip;
  };
  const auto first = memory.pointer_at(method_table - 2 * kWord);
  std::vector<Pair> below(static_cast<std::size_t>(count));
  const Address lowest = method_table - 2 * kWord - kWord * static_cast<std::uint64_t>(count);
  if (!first || *first < kWord || *first % kWord != 0 || *first > kMostOffset) return false;
  if (!memory.reader().read_exact(lowest, std::as_writable_bytes(std::span(below)))) return false;
  std::uint64_t sum = 0;
  for (auto it = below.rbegin(); it != below.rend(); ++it) {
    if (it->words == 0 || it->skip % kWord != 0) return false;
    elements_.push_back({it->words, it->skip});
    sum += it->words * kWord + it->skip;
  }
  first_ = *first;
  return sum != 0 && sum == stride;
}

std::optional<GcDesc> GcDesc::read(const RuntimeMemory& memory, Address method_table) {
  if (memory.pointer_size() != kWord || method_table < kMostOffset) return std::nullopt;
  const auto flags = memory.value<std::uint32_t>(method_table, memory.layouts().method_table.flags);
  if (!flags) return std::nullopt;
  GcDesc found;
  if ((*flags & kContainsReferences) == 0) return found;
  const auto count = memory.reader().read<std::int64_t>(method_table - kWord);
  if (!count || *count == 0 || *count > kMostSeries || *count < -kMostSeries) return std::nullopt;
  const std::uint32_t stride = (*flags & kHasComponents) != 0 ? *flags & kComponentSize : 0;
  const bool is_read = *count > 0 ? found.read_runs(memory, method_table, *count)
                                  : found.read_elements(memory, method_table, -*count, stride);
  if (!is_read) return std::nullopt;
  return found;
}

}  // namespace mixstack::dotnet::objects
