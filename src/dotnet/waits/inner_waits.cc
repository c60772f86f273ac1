// Waits that are parts of another one: of a SpinLock, of a SemaphoreSlim for a task of its own, for a result of F#.
#include <algorithm>
#include <unordered_map>

#include "dotnet/bcl/async_plumbing.h"
#include "dotnet/bcl/locks.h"
#include "dotnet/bcl/waits.h"
#include "dotnet/waits/thread_waits.h"

namespace mixstack::dotnet::objects {
/// A SpinLock is a word that a method of its own keeps a reference to while it spins: the managed id of the owner, or,
/// without owner tracking, a flag (SpinLock.cs). It must be the only word of these frames that leads to such a value.
ThreadWait ThreadWaits::spin_lock(const WaitingThread& at) {
  constexpr std::uint32_t kNoTracking = 0x80000000, kHeld = 1;
  ThreadWait wait;
  wait.kind = WaitKind::lock;
  wait.proof = Proof::recorded;  // that it is one, the frame says
  wait.object.type = bcl::kSpinLock;
  const auto is_its = [](const WaitFrame& f) {
    return f.is_managed && f.method.find(bcl::kSpinLockMethods) != std::string_view::npos;
  };
  const auto inner = std::find_if(at.frames.begin(), at.frames.end(), is_its);
  const auto outer = std::find_if(at.frames.rbegin(), at.frames.rend(), is_its);
  if (inner == at.frames.end() || outer == at.frames.rend()) return {};
  // Its callees may have saved the register with the reference in their own frames.
  constexpr std::ptrdiff_t kCallees = 3;
  const auto first = inner - std::min(kCallees, inner - at.frames.begin());
  const Address begin = first->sp & ~Address{7}, end = std::max(outer->cfa, begin);
  std::vector<Address> words(std::min<std::size_t>((end - begin) / 8, kMostWords));
  const auto n = objects_.memory().reader().read_some(begin, std::as_writable_bytes(std::span(words)));
  words.resize(n ? *n / sizeof(Address) : 0);
  for (unsigned r = 0; at.registers != nullptr && r < Registers::kMax; r++)
    if (const auto v = at.registers->get(r)) words.push_back(*v);
  std::unordered_map<Address, std::uint32_t> found;
  for (const Address word : words) {
    if (word % 4 != 0 || !may_be_object(word & ~Address{7}, at)) continue;
    const auto value = objects_.read<std::uint32_t>(word);
    if (!value) continue;
    const bool is_owner = *value != at.thread->id && os_id_of_managed(static_cast<std::int32_t>(*value)) != 0;
    const bool is_flag = (*value & kNoTracking) != 0 && (*value & kHeld) != 0 && *value < kNoTracking + (1u << 20);
    if (is_owner || is_flag) found.emplace(word, *value);
  }
  if (found.size() != 1) {
    wait.object.detail = "who holds it is not known";
    return wait;
  }
  const auto& [address, value] = *found.begin();
  wait.object.address = address;
  if ((value & kNoTracking) != 0)
    wait.object.detail = "without owner tracking: nothing tells who holds it";
  else
    wait.owners = {static_cast<std::uint32_t>(os_id_of_managed(static_cast<std::int32_t>(value)))};
  return wait;
}

/// SemaphoreSlim.Wait waits for a task of WaitAsync as soon as somebody else does: what the program waits for is the
/// semaphore, whose list the task is in.
ThreadWait ThreadWaits::semaphore_of_node(const ThreadWait& wait, const Candidates& found) {
  constexpr std::size_t kMostNodes = 1 << 12;
  ThreadWait of = wait;
  for (const Candidate& c : found) {
    if (!objects_.types().is_a(c.type, bcl::SemaphoreSlim::kType)) continue;
    Address node = objects_.reference(c.address, bcl::SemaphoreSlim::kAsyncHead).value_or(0);
    for (std::size_t i = 0; node != 0 && i < kMostNodes; i++) {
      if (node != wait.object.address) {
        node = objects_.reference(node, bcl::SemaphoreNode::kNext).value_or(0);
        continue;
      }
      of.kind = WaitKind::semaphore_slim;
      of.object = object(c.address);
      of.owners.clear();
      if (const auto count = objects_.value<std::int32_t>(c.address, bcl::SemaphoreSlim::kCount))
        of.object.detail = "count " + std::to_string(*count);
      return of;
    }
  }
  return of;
}

/// Async.RunSynchronously and PostAndReply wait for an event that the cell of the result has.
bool ThreadWaits::is_of_fsharp_result(Address handle, const Candidates& found) {
  return std::any_of(found.begin(), found.end(), [&](const Candidate& c) {
    const TypeFacts* type = objects_.types().at(c.type);
    return type != nullptr && type->name == bcl::FSharpResult::kType && type->assembly == bcl::kFSharpCore &&
           objects_.reference(c.address, bcl::FSharpResult::kEvent) == handle;
  });
}

}  // namespace mixstack::dotnet::objects
