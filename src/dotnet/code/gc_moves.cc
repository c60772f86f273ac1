#include "dotnet/code/gc_moves.h"

#include "dotnet/code/collector.h"

namespace mixstack::dotnet {

std::optional<GcCounts> find_gc_counts(const RuntimeMemory& memory, Address dac_table) {
  const auto collector = find_collector(memory, dac_table);
  if (!collector) return std::nullopt;
  const GcCounts found{collector->mechanisms.empty() ? collector->counts_of_heap : collector->mechanisms,
                       collector->invalid};
  if (found.counts.empty() || found.invalid == 0) return std::nullopt;
  return found;
}

std::optional<std::vector<std::uint64_t>> read_gc_counts(const RuntimeMemory& memory, const GcCounts& at) {
  const auto& gc_thread = memory.layouts().globals.gc_thread;
  const auto suspends = memory.through(gc_thread);
  const auto invalid = memory.reader().read<std::int32_t>(at.invalid);
  if (!suspends || *suspends != 0 || !invalid || *invalid != 0) return std::nullopt;
  // Read after those two: a collection that ended before them has already counted.
  std::vector<std::uint64_t> values(at.counts.size() / 8);
  if (!memory.reader().read_exact(at.counts.begin, std::as_writable_bytes(std::span(values)))) return std::nullopt;
  return values;
}

}  // namespace mixstack::dotnet
