#include "dotnet/code/gc_moves.h"

#include "dotnet/code/gc_variables.h"

namespace mixstack::dotnet {
namespace {

constexpr std::uint32_t kMechanismWords = 6;  // global_concurrent to global_elevation
// Offsets of a heap's fields: counts lie from interesting_data_per_heap on, up to internal_root_array.
constexpr std::uint32_t kFirstCount = 4, kBehindCounts = 8;
constexpr std::int32_t kMostBytes = 1024;

/// The counts of a server's first heap.
AddressRange counts_of_heap(const RuntimeMemory& memory, const GcVariables& variables) {
  const Address array = variables.through(GcVariables::kHeaps);
  const Address heap = array == 0 ? 0 : memory.pointer_at(array).value_or(0);
  const Address fields = variables.variable(GcVariables::kHeapFields);
  if (heap == 0 || fields == 0) return {};
  const auto first = memory.reader().read<std::int32_t>(fields + 4 * kFirstCount);
  const auto behind = memory.reader().read<std::int32_t>(fields + 4 * kBehindCounts);
  if (!first || !behind || *first <= 0 || *behind <= *first || *behind - *first > kMostBytes) return {};
  return {heap + static_cast<Address>(*first), heap + static_cast<Address>(*behind)};
}

}  // namespace

std::optional<GcCounts> find_gc_counts(const RuntimeMemory& memory, Address dac_table) {
  const auto variables = GcVariables::find(memory, dac_table);
  if (!variables) return std::nullopt;
  GcCounts found;
  found.invalid = variables->variable(GcVariables::kStructuresInvalid);
  const Address mechanisms = variables->variable(GcVariables::kMechanisms);
  found.counts =
      mechanisms != 0 ? AddressRange{mechanisms, mechanisms + 8 * kMechanismWords} : counts_of_heap(memory, *variables);
  if (found.counts.empty() || found.invalid == 0) return std::nullopt;
  return found;
}

std::optional<std::vector<std::uint64_t>> read_gc_counts(const RuntimeMemory& memory, const GcCounts& at) {
  const auto& gc_thread = memory.layouts().globals.gc_thread;
  const auto suspends = memory.through(gc_thread);
  const auto invalid = memory.reader().read<std::int32_t>(at.invalid);
  if (!suspends || *suspends != 0 || !invalid || *invalid != 0) return std::nullopt;
  // After the two: a collection that has ended before has counted by now.
  std::vector<std::uint64_t> values(at.counts.size() / 8);
  if (!memory.reader().read_exact(at.counts.begin, std::as_writable_bytes(std::span(values)))) return std::nullopt;
  return values;
}

}  // namespace mixstack::dotnet
