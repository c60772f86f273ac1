// Parts that the searches for holders in processes and in cores share.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "session/heap_holders.h"
#include "session/heap_stops.h"

namespace mixstack::session {

inline constexpr std::uint64_t kMostStack = 1 << 20;  ///< bytes of one thread that are looked at

[[nodiscard]] HeapHolders no_holders(std::string why);
/// Bytes of regions that HolderReader::memory_for wants to know.
[[nodiscard]] std::uint64_t numbered_bytes(const dotnet::objects::GcRegions& gc);
/// About as many objects as those parts of the heap have that are walked after the stop: young, pinned and large ones.
[[nodiscard]] std::uint64_t objects_not_walked(const dotnet::objects::GcRegions& gc);
[[nodiscard]] std::string too_much_memory(std::uint64_t wanted, std::uint64_t allowed);
/// The used part of a thread's stack, as far as it is looked at.
[[nodiscard]] inline AddressRange used_stack(const dotnet::ManagedThread& thread, Address sp) {
  sp &= ~Address{7};
  return {sp, std::min(thread.stack.end, sp + kMostStack)};
}
/// The words of it, and those of registers.
[[nodiscard]] std::vector<std::uint64_t> words_of_stack(const MemoryReader& memory, AddressRange used,
                                                        const Registers& registers);

/// Searches in a core, which needs no stop. `most_memory`: of our own.
[[nodiscard]] HeapHolders find_holders_in_core(const HolderSearch& of, std::uint64_t most_memory);
/// In a process that runs.
[[nodiscard]] HeapHolders find_holders_live(const HolderSearch& of, std::uint64_t most_memory);

}  // namespace mixstack::session
