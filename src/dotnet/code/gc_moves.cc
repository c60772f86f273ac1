#include "dotnet/code/gc_moves.h"

#include <span>

namespace mixstack::dotnet {
namespace {

// Entries of the table in 10.0.
constexpr std::size_t kThreadStore = 15, kFinalizerThread = 16, kGcThread = 17, kGcDacVars = 19, kAppDomain = 20;
constexpr std::size_t kEntries = 21;

// GcDacVars: two bytes of version, a size and a count, then pointers.
constexpr std::uint8_t kMajor = 2;
constexpr std::uint32_t kFirstPointer = 24, kMechanisms = 2, kStructuresInvalid = 21;

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
  const GcCounts found{memory.pointer_at(vars + kFirstPointer + 8 * kMechanisms).value_or(0),
                       memory.pointer_at(vars + kFirstPointer + 8 * kStructuresInvalid).value_or(0)};
  if (found.counts == 0 || found.invalid == 0) return std::nullopt;
  return found;
}

std::optional<GcCounts::Values> read_gc_counts(const RuntimeMemory& memory, const GcCounts& at) {
  const auto& gc_thread = memory.layouts().globals.gc_thread;
  const auto suspends = memory.through(gc_thread);
  const auto invalid = memory.reader().read<std::int32_t>(at.invalid);
  if (!suspends || *suspends != 0 || !invalid || *invalid != 0) return std::nullopt;
  // After the two: a collection that has ended before has counted by now.
  GcCounts::Values values{};
  if (!memory.reader().read_exact(at.counts, std::as_writable_bytes(std::span(values)))) return std::nullopt;
  return values;
}

}  // namespace mixstack::dotnet
