// Which bytes of each stack to copy.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mixstack/target.h"

namespace mixstack::process {

/// The copy of one thread's stack.
struct StackCopy {
  Address sp = 0;
  Address thread_pointer = 0;  ///< 0: unknown
  Address begin = 0;
  std::size_t size = 0;
  Address stack_end = 0;  ///< where the stack's mapping ends; 0 when sp lies in no known mapping
  bool truncated = false;
};

/// Bytes below sp that belong to the innermost function: the red zone of the System V AMD64 psABI (3.2.2). AArch64
/// has none; there they are merely copied too.
inline constexpr std::size_t kRedZone = 128;

/// Where the stack that holds `sp` begins and ends. It ends below the thread's control block where that lies above `sp`
/// in the same mapping (glibc and musl put it at the top of the stack), else with the mapping. Private writable
/// anonymous mappings in a row count as one on the way to the control block, for a stack whose protection or advice was
/// changed in part is several; otherwise nothing is joined. Empty when `sp` lies in no mapping.
[[nodiscard]] AddressRange stack_extent(const std::vector<Region>& regions, Address sp, Address thread_pointer);

/// The stack a thread was born on: [stack] for the main thread, for others the mapping that holds their thread pointer,
/// below that pointer. Empty when it cannot be told.
[[nodiscard]] AddressRange home_stack(const std::vector<Region>& regions, bool is_main_thread, Address thread_pointer);

/// Whether that extent ends where the stack does: at the thread's control block, or it is the main thread's stack. For
/// others (fibers, coroutines, stacks on the heap or in shared memory) it tells only where the mapping ends, which may
/// hold anything else.
[[nodiscard]] bool is_known_stack(const std::vector<Region>& regions, Address sp, Address thread_pointer);

/// Gives every stack its first `initial` bytes and then completes the shortest rests first until `budget` is used up.
/// `sp` and `thread_pointer` of each copy are given, the rest is filled in. Only stacks whose end is known are
/// completed. Allocates nothing if `order` has room for all. Answers what is left of the budget.
std::size_t plan_stacks(std::span<StackCopy> copies, const std::vector<Region>& regions, std::size_t initial,
                        std::size_t budget, std::vector<std::size_t>& order);

/// The lowest word in a copied stack that points into `other`, or 0: the signal frame on an alternate stack holds the
/// interrupted sp, and nothing on it points below that but leftovers.
[[nodiscard]] Address lowest_pointer_into(MemorySlice stack, Address from, AddressRange other);

/// The part of `own`, its home stack, that a thread left when it went to another stack (a handler on an alternate
/// signal stack, or a stack of its own making), red zone included: from the lowest address there that the kernel's
/// signal frame, a saved or a preserved register points to. `stack` is the copy of the current one. Empty if there is
/// none.
[[nodiscard]] AddressRange left_part(const Registers& registers, MemorySlice stack, AddressRange own);

}  // namespace mixstack::process
