#include "dotnet/code/gc_moves.h"

#include <array>
#include <span>

namespace mixstack::dotnet {
namespace {

// Entries of the table in 10.0.
constexpr std::size_t kThreadStore = 15, kFinalizerThread = 16, kGcThread = 17, kGcDacVars = 19, kAppDomain = 20;
constexpr std::size_t kEntries = 21;

// GcDacVars: two bytes of version, a size and a count, then pointers.
constexpr std::uint8_t kMajor = 2;
constexpr std::uint32_t kFirstPointer = 24, kMechanisms = 2, kHeaps = 20, kStructuresInvalid = 21, kHeapFields = 27;
constexpr std::uint32_t kMechanismWords = 6;  // global_concurrent to global_elevation
// Offsets of a heap's fields: counts lie from interesting_data_per_heap on, up to internal_root_array.
constexpr std::uint32_t kFirstCount = 4, kBehindCounts = 8;
constexpr std::int32_t kMostBytes = 1024;

/// The counts of a server's first heap.
AddressRange counts_of_heap(const RuntimeMemory& memory, Address vars) {
  const auto pointer = [&](std::uint32_t number) {
    return memory.pointer_at(vars + kFirstPointer + 8 * number).value_or(0);
  };
  const Address heaps = pointer(kHeaps), fields = pointer(kHeapFields);
  if (heaps == 0 || fields == 0) return {};
  const Address array = memory.pointer_at(heaps).value_or(0);
  const Address heap = array == 0 ? 0 : memory.pointer_at(array).value_or(0);
  const auto first = memory.reader().read<std::int32_t>(fields + 4 * kFirstCount);
  const auto behind = memory.reader().read<std::int32_t>(fields + 4 * kBehindCounts);
  if (heap == 0 || !first || !behind || *first <= 0 || *behind <= *first || *behind - *first > kMostBytes) return {};
  return {heap + static_cast<Address>(*first), heap + static_cast<Address>(*behind)};
}

}  // namespace

std::optional<GcCounts> find_gc_counts(const RuntimeMemory& memory, Address dac_table) {
  if (dac_table == 0 || memory.pointer_size() != 8) return std::nullopt;
  std::array<std::uint64_t, kEntries> table{};
  if (!memory.reader().read_exact(dac_table, std::as_writable_bytes(std::span(table)))) return std::nullopt;
  const auto& globals = memory.layouts().globals;
  const auto is = [&](std::size_t entry, const Global& global) { return global && global.value == table[entry]; };
  if (!is(kThreadStore, globals.thread_store) || !is(kFinalizerThread, globals.finalizer_thread) ||
      !is(kGcThread, globals.gc_thread) || !is(kAppDomain, globals.app_domain))
    return std::nullopt;
  const Address vars = memory.pointer_at(table[kGcDacVars]).value_or(0);
  if (vars == 0 || memory.reader().read<std::uint8_t>(vars).value_or(0) != kMajor) return std::nullopt;
  GcCounts found;
  found.invalid = memory.pointer_at(vars + kFirstPointer + 8 * kStructuresInvalid).value_or(0);
  const Address mechanisms = memory.pointer_at(vars + kFirstPointer + 8 * kMechanisms).value_or(0);
  found.counts =
      mechanisms != 0 ? AddressRange{mechanisms, mechanisms + 8 * kMechanismWords} : counts_of_heap(memory, vars);
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
