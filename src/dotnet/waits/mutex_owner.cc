#include "dotnet/waits/mutex_owner.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>

namespace mixstack::dotnet::objects {
namespace {

// The platform layer of .NET 10 (src/coreclr/pal/src/synchmgr/synchmanager.hpp, src/include/pal/synchobjects.hpp).
// Every thread has a ThreadWaitInfo a few words behind the condition variable that it waits at, with a node of the list
// of waiters for each object that it waits for; the node leads to the object's state.
struct WaitInfo {
  std::uint32_t type;
  std::int32_t objects;
  std::uint64_t thread;  // CPalThread
  std::uint64_t node;    // of the first object
};
struct WaitNode {
  std::uint64_t next, previous;
  std::uint32_t thread, index;
  std::uint32_t flags[2];
  std::uint64_t state, object, info;
};
struct SyncState {
  std::uint64_t first, last;  // nodes of those who wait
  std::uint32_t waiters, references, kind, signals;
  std::uint32_t ownerships, process;
  std::uint64_t owner_id, owner;  // its CPalThread
};
static_assert(offsetof(WaitNode, info) == 48 && offsetof(SyncState, owner) == 48);

// Offsets in CPalThread (src/coreclr/pal/src/include/pal/thread.hpp), behind a mutex of libc: 40 bytes on x86-64, 48 on
// ARM64.
constexpr std::uint64_t kThreadIds[] = {80, 88};
constexpr Address kFarthest = 64;  // the wait information, behind the word: a condition variable has 48 bytes
constexpr std::uint32_t kMostWaiters = 1 << 16;

struct NodeFound {
  std::uint64_t node = 0;       ///< 0: none
  std::uint64_t thread_id = 0;  ///< where threads have their ids
};

/// The one that leads back to the thread and has a node that leads back to it.
NodeFound node_at(const MemoryReader& memory, Address info, std::uint64_t waiter) {
  const auto wait = memory.read<WaitInfo>(info);
  if (!wait || wait->objects != 1 || wait->thread == 0 || wait->node == 0) return {};
  for (const std::uint64_t offset : kThreadIds)
    if (const auto id = memory.read<std::uint64_t>(wait->thread + offset); id && *id == waiter)
      return {wait->node, offset};
  return {};
}

/// The owner by the wait information at a place; 0: there is none, or it is not proved. Nothing: no wait of that thread
/// is there.
std::optional<std::uint64_t> owner_by(const MemoryReader& memory, Address info, std::uint64_t waiter) {
  const auto [at, thread_id] = node_at(memory, info, waiter);
  const auto node = at != 0 ? memory.read<WaitNode>(at) : Result<WaitNode>(WaitNode{});
  if (!node || node->info != info || node->thread != waiter) return std::nullopt;
  const auto state = memory.read<SyncState>(node->object);
  if (!state || state->waiters == 0 || state->waiters > kMostWaiters) return 0;
  // The list leads to the node from both sides.
  const auto next_of_previous =
      node->previous == 0 ? Result<std::uint64_t>(state->first) : memory.read<std::uint64_t>(node->previous);
  const auto previous_of_next =
      node->next == 0 ? Result<std::uint64_t>(state->last) : memory.read<std::uint64_t>(node->next + 8);
  if (!next_of_previous || *next_of_previous != at || !previous_of_next || *previous_of_next != at) return 0;
  if (state->ownerships == 0 || state->owner == 0 || state->owner_id == 0) return 0;
  const auto owner = memory.read<std::uint64_t>(state->owner + thread_id);
  return owner && *owner == state->owner_id && *owner != waiter ? *owner : 0;
}

/// musl's condition variables keep the word that a thread waits at on its stack. The frames above it are those of the
/// platform layer, which have addresses in the thread's record.
std::optional<std::uint64_t> owner_by_stack(const MemoryReader& memory, Address word, std::uint64_t waiter) {
  constexpr std::size_t kStackWords = 128, kRecordBytes = 256;
  std::array<std::uint64_t, kStackWords> stack{};
  const Address begin = (word + 7) & ~Address{7};
  const auto size = memory.read_some(begin, std::as_writable_bytes(std::span(stack)));
  if (!size) return std::nullopt;
  std::array<std::byte, kRecordBytes> record{};
  for (const std::uint64_t at : std::span(stack).first(*size / sizeof(std::uint64_t))) {
    if (at == 0 || at % 8 != 0 || !memory.read_exact(at, record)) continue;
    for (std::size_t i = 0; i + sizeof(WaitInfo) <= record.size(); i += 8) {
      WaitInfo wait;
      std::memcpy(&wait, record.data() + i, sizeof wait);
      if (wait.objects != 1 || wait.thread == 0 || wait.thread % 8 != 0) continue;
      if (const auto owner = owner_by(memory, at + i, waiter)) return owner;
    }
  }
  return std::nullopt;
}

}  // namespace

std::uint64_t mutex_owner(const MemoryReader& memory, Address word, std::uint64_t waiter) {
  if (word == 0 || word % 4 != 0 || waiter == 0) return 0;
  for (Address info = (word + 7) & ~Address{7}; info <= word + kFarthest; info += 8)
    if (const auto owner = owner_by(memory, info, waiter)) return *owner;
  return owner_by_stack(memory, word, waiter).value_or(0);
}

}  // namespace mixstack::dotnet::objects
