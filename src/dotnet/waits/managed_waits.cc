// Waits of .NET 11, whose monitors and handles are managed objects.
#include <algorithm>

#include "dotnet/bcl/locks.h"
#include "dotnet/bcl/threads.h"
#include "dotnet/bcl/waits.h"
#include "dotnet/waits/thread_waits.h"

namespace mixstack::dotnet::objects {

/// The stack slot of the record holds the reference. In a running process a collection may have moved the Lock, and
/// changed the slot, since the stack was copied.
Address ThreadWaits::lock_in(const WaitingThread& at, const BlockingRecord& record) {
  if (now_ == nullptr || !is_still(at, record)) return record.pointer;
  const auto moved = now_->read<std::uint64_t>(record.word);
  return moved ? *moved : record.pointer;
}

ThreadWait ThreadWaits::wait_for_lock(const WaitingThread& at, const BlockingRecord& record) {
  ThreadWait wait;
  wait.proof = Proof::recorded;
  if (record.timeout_ms >= 0) wait.timeout = std::chrono::milliseconds(record.timeout_ms);
  const Address recorded = lock_in(at, record);
  if (record.kind == BlockingKind::condition) {
    const Address lock = objects_.reference(recorded, bcl::Condition::kLock).value_or(0);
    if (records_.lock(lock)) {
      const Address monitor = records_.object_of_monitor(lock);
      wait = monitor_wait(monitor != 0 ? monitor : lock, record, candidates(at));
      if (wait.kind == WaitKind::monitor_wait && monitor == 0) wait.kind = WaitKind::condition;
      return wait;
    }
    wait.kind = WaitKind::condition;
    wait.object = object(recorded);
    return wait;
  }
  const auto lock = records_.lock(recorded);
  const Address monitor = records_.object_of_monitor(recorded);
  wait.kind = monitor != 0 ? WaitKind::monitor : WaitKind::lock;
  wait.object = object(monitor != 0 ? monitor : recorded);
  if (lock && monitor != 0) wait.waiters = lock->waiters;
  if (lock) describe_owner(*lock, wait);
  return wait;
}

/// The owner's managed id is all that a Lock and a reader-writer lock keep. Ids of threads that have ended are given to
/// new ones, as the runtime itself takes them for the owner then. In a running process the owner may be younger than
/// the list of threads: then the list is read again, and after it the lock's field.
void ThreadWaits::describe_managed_owner(std::uint32_t id, Address lock, std::string_view field, ThreadWait& wait) {
  if (id == 0) return;
  bool is_dead = false;
  std::uint64_t owner = 0;
  const auto look_at = [&](const ManagedThread& t) {
    if (t.id != id) return true;
    if (t.os_id == 0 || t.is_dead())
      is_dead = true;
    else
      owner = t.os_id;
    return owner == 0;
  };
  for (const ManagedThread& t : threads_)
    if (!look_at(t)) break;
  if (owner == 0 && !is_dead && now_ != nullptr) {
    const Error error = visit_threads(objects_.memory().with(*now_), look_at);
    const auto place = objects_.place(lock, field);
    const auto again = place ? now_->read<std::uint32_t>(*place) : Result<std::uint32_t>(0);
    if (owner == 0 && (error.code != ErrorCode::none || !again || *again != id)) return;
  }
  if (owner != 0)
    wait.owners.push_back(static_cast<std::uint32_t>(owner));
  else
    wait.owner_has_ended = is_dead || are_all_;
}

std::uint64_t ThreadWaits::os_id_of_object(Address thread_object) {
  const auto native = objects_.value<std::uint64_t>(thread_object, bcl::Thread::kNative);
  for (const ManagedThread& t : threads_)
    if (native && t.address == *native && !t.is_dead()) return t.os_id;
  return 0;
}

/// A named mutex is no object of the wait subsystem, which records nothing of it.
ThreadWaits::Handles ThreadWaits::handles_of(const WaitingThread& at, const Candidates& found) {
  Handles handles;
  if (records_.has_locks()) handles.recorded = subsystem_.of(*at.thread);
  if (handles.recorded && handles.recorded->waitables.empty()) handles.recorded.reset();
  for (const Candidate& c : found)
    if (objects_.types().is_a(c.type, bcl::kSafeWaitHandle)) handles.safe.insert(c.address);
  return handles;
}

bool ThreadWaits::is_waited(const Handles& handles, Address handle) {
  if (handle == 0) return false;
  if (handles.recorded) return handles.recorded->is_for(subsystem_.waitable_of(handle));
  return handles.safe.contains(objects_.reference(handle, bcl::WaitHandle::kSafeHandle).value_or(0));
}

bool ThreadWaits::are_members(const std::vector<WaitedObject>& members, const ManagedWait& recorded) {
  return members.size() == recorded.waitables.size() &&
         std::all_of(members.begin(), members.end(),
                     [&](const WaitedObject& m) { return recorded.is_for(subsystem_.waitable_of(m.address)); });
}

/// Reports the runtime's WaitableObjects where the program's own handle objects are not on the stack.
ThreadWait ThreadWaits::waitables(const WaitingThread& at, const ManagedWait& recorded, const Candidates& found) {
  ThreadWait wait;
  for (const Address waitable : recorded.waitables) {
    wait.others.push_back(object(waitable));
    wait.others.back().detail = subsystem_.kind_of(waitable);
  }
  const auto is_on_stack = [&](const Candidate& c) { return recorded.is_for(c.address); };
  wait.proof = std::any_of(found.begin(), found.end(), is_on_stack) ? Proof::recorded : Proof::likely;
  wait.kind = WaitKind::wait_handles;
  wait.object = wait.others.front();
  if (wait.others.size() > 1) return wait;
  wait.kind = WaitKind::wait_handle;
  wait.others.clear();
  describe_mutex(at, wait);
  return wait;
}

/// The thread waits for what is signalled when the other one ends; that may be itself.
ThreadWait ThreadWaits::recorded_join(const WaitingThread& at, const Candidates& found) {
  const ManagedThread& self = *at.thread;
  ThreadWait wait;
  const auto recorded = records_.has_locks() ? subsystem_.of(self) : std::nullopt;
  if (!recorded || recorded->waitables.size() != 1) return wait;
  if (!by_end_) {
    by_end_.emplace();
    for (const ManagedThread& t : threads_)
      if (const Address end = subsystem_.end_of(t); end != 0) by_end_->emplace(end, &t);
  }
  const auto other = by_end_->find(recorded->waitables.front());
  if (other == by_end_->end()) return wait;
  const Address joined = subsystem_.thread_object(*other->second);
  const auto is_it = [&](const Candidate& c) { return c.address == joined || recorded->is_for(c.address); };
  wait.kind = WaitKind::thread_join;
  wait.gives_up = may_give_up(at);
  wait.proof = std::any_of(found.begin(), found.end(), is_it) ? Proof::recorded : Proof::likely;
  wait.object = object(joined);
  if (other->second->os_id != 0 && !other->second->is_dead())
    wait.owners = {static_cast<std::uint32_t>(other->second->os_id)};
  return wait;
}

}  // namespace mixstack::dotnet::objects
