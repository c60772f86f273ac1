// The wait of one thread of the runtime, and its owners.
// Input: a thread with frames, registers and stack. Output: a ThreadWait and how it is proved; kind none if unknown.
// Algorithm: the runtime's blocking record comes first, since it names the lock. Without one the innermost managed
// frames choose the kind (handle, join, spin, callback, sleep), and words of the stack that are objects are candidates:
// one counts as proved where its fields lead back to the awaited event or lock. Owners come last: recorded, by a Task
// that a thread runs, or by fields of the program's own locks (program_locks.cc).
// Bounds: kManagedFrames frames, kMostWords words, kMostObjects candidates, kMostMembers members of a list.
#include "dotnet/waits/thread_waits.h"

#include <algorithm>
#include <array>

#include "dotnet/bcl/locks.h"
#include "dotnet/bcl/sockets_and_requests.h"
#include "dotnet/bcl/tasks.h"
#include "dotnet/bcl/threads.h"
#include "dotnet/bcl/types.h"
#include "dotnet/bcl/waits.h"
#include "dotnet/waits/mutex_owner.h"

namespace mixstack::dotnet::objects {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::optional<std::chrono::milliseconds> timeout_of(std::int32_t ms) {
  if (ms < 0) return std::nullopt;
  return std::chrono::milliseconds(ms);
}

/// Whether one of the innermost managed frames is of this method.
bool is_inside(const WaitingThread& at, std::string_view method) {
  unsigned managed = 0;
  for (const WaitFrame& f : at.frames) {
    if (!f.is_managed) continue;
    if (has(f.method, method)) return true;
    if (++managed == ThreadWaits::kManagedFrames) break;
  }
  return false;
}

/// Arguments of generic names have no namespaces. For a collection they show the program that it belongs to: they get
/// them here.
std::string name_with_arguments(LoadedTypes& types, Address type) {
  std::string name = types.csharp_name(type);
  const auto arguments = types.arguments(type);
  const std::size_t begin = name.find('<');
  if (arguments.empty() || begin == std::string::npos || !name.ends_with('>')) return name;
  std::string whole = name.substr(0, begin);
  std::size_t at = begin + 1, nth = 0;
  int depth = 0;
  for (std::size_t i = at; i < name.size(); i++) {
    const bool is_end = depth == 0 && (name[i] == ',' || name[i] == '>');
    if (!is_end) {
      depth += name[i] == '<' ? 1 : name[i] == '>' ? -1 : 0;
      continue;
    }
    if (nth == arguments.size() || (name[i] == '>' && i + 1 != name.size())) return name;
    const std::string part = name.substr(at, i - at), of = types.csharp_name(arguments[nth]);
    const bool is_programs = of.ends_with("." + part) && !of.starts_with(bcl::kSystem);
    whole += (nth++ == 0 ? "<" : ", ") + (is_programs ? of : part);
    at = i + 1;
    while (at < name.size() && name[at] == ' ') at++;
  }
  return nth == arguments.size() ? whole + ">" : name;
}

}  // namespace

ThreadWait ThreadWaits::of(const WaitingThread& at) {
  if (at.thread == nullptr || at.thread->is_dead() || at.frames.empty()) return {};
  ThreadWait wait = lock_of_program(at, any_wait(at));
  // A thread that waits for a task which it runs itself, or for its own end, is blocked for ever: it stays its own
  // owner.
  if (wait.kind == WaitKind::task || wait.kind == WaitKind::all_tasks || wait.kind == WaitKind::thread_join)
    return wait;
  // Else nobody is held up by itself: who has the lock already is about to leave the wait, or holds another part of it.
  const auto self = std::find(wait.owners.begin(), wait.owners.end(), static_cast<std::uint32_t>(at.thread->os_id));
  if (self == wait.owners.end()) return wait;
  if (wait.kind == WaitKind::monitor || wait.kind == WaitKind::lock) return {};
  wait.owners.erase(self);
  return wait;
}

bool ThreadWaits::can_be_told() {
  bool all = true;  // each is read in any case: a pack holds what is read while it is made
  for (const ManagedThread& t : threads_) {
    if (t.os_id == 0 || t.is_dead()) continue;
    all = records_.are_there(t.address, t.stack) && all;
    if (t.thread_object_handle == 0) continue;
    const auto object = objects_.read<std::uint64_t>(t.thread_object_handle);
    all = object && (*object == 0 || objects_.type_of(*object) != 0) && all;
  }
  return all;
}

bool ThreadWaits::is_for_an_object(const WaitingThread& at) {
  // Nothing of the program can be lost in the waits of these threads: they wait for work.
  const auto serves = [](const WaitFrame& f) {
    constexpr std::array kServants{bcl::kPoolGate, bcl::kPoolWaits, bcl::kTimerThread, bcl::kSocketThread};
    return f.is_managed && std::any_of(kServants.begin(), kServants.end(), [&f](const auto& start) {
             return std::string_view(f.method).starts_with(start);
           });
  };
  if (std::any_of(at.frames.begin(), at.frames.end(), serves)) return false;
  return is_inside(at, bcl::kWaitHandleMethods) || is_inside(at, bcl::kJoin) || is_inside(at, bcl::kLockMethods) ||
         is_inside(at, bcl::kConditionMethods) || is_inside(at, bcl::kWaitsForCallback);
}

/// The first to ask asks for all.
bool ThreadWaits::is_still(const WaitingThread& at, const BlockingRecord& newest) {
  if (now_ == nullptr) return true;
  const auto* bulk = dynamic_cast<const memory::BulkMemory*>(now_);
  if (bulk == nullptr) return records_.is_still(at.thread->address, newest, *now_);
  if (!still_) {
    std::vector<std::pair<Address, BlockingRecord>> newest_by_thread;
    for (const ManagedThread& t : threads_) {
      if (t.os_id == 0 || t.is_dead() || t.stack.empty()) continue;
      if (const auto records = records_.of(t.address, t.stack); !records.empty())
        newest_by_thread.emplace_back(t.address, records.front());
    }
    still_ = records_.are_still(newest_by_thread, *bulk);
  }
  const auto known = still_->find(at.thread->address);
  return known != still_->end() ? known->second : records_.is_still(at.thread->address, newest, *now_);
}

ThreadWait ThreadWaits::any_wait(const WaitingThread& at) {
  AddressRange stack = at.thread->stack;
  if (stack.empty()) stack = {at.frames.front().sp, at.frames.back().sp + (1 << 16)};
  const auto records = records_.of(at.thread->address, stack);
  ThreadWait wait = recorded_wait(at, records);
  if (wait.kind != WaitKind::none && !is_still(at, records.front())) wait.proof = Proof::likely;
  if (wait.kind != WaitKind::none) return wait;
  // Locks and conditions of .NET 11 wait with events of their own, which the program knows nothing of.
  if (records_.has_locks() && (is_inside(at, bcl::kLockMethods) || is_inside(at, bcl::kConditionMethods))) return {};
  if (is_inside(at, bcl::kSpinLockMethods)) return spin_lock(at);
  if (is_inside(at, bcl::kWaitHandleMethods)) return handle_wait(at, candidates(at));
  if (is_inside(at, bcl::kJoin)) return join(at, candidates(at));
  if (is_inside(at, bcl::kWaitsForFinalizers)) return finalizers();
  if (is_inside(at, bcl::kWaitsForCallback)) wait = callback(at);
  if (wait.kind != WaitKind::none) return wait;
  if (is_inside(at, bcl::kSleep)) {
    wait.kind = WaitKind::sleep;
    wait.proof = Proof::recorded;
    if (is_inside(at, bcl::kSpinWaitMethods)) wait.object.detail = "again and again, until something is so";
    return wait;
  }
  // .NET 11: methods of handles that are inlined leave those of the wait subsystem, which records what it waits for.
  if (records_.has_locks() && is_inside(at, bcl::kWaitSubsystemMethods))
    if (const auto recorded = subsystem_.of(*at.thread); recorded && !recorded->waitables.empty())
      return handle_wait(at, candidates(at));
  return class_constructor(*at.thread);
}

ThreadWait ThreadWaits::recorded_wait(const WaitingThread& at, std::span<const BlockingRecord> records) {
  // The outermost is what the program asked for; what came after it is how that waits inside.
  for (const BlockingRecord& record : records) {
    ThreadWait wait;
    wait.proof = Proof::recorded;
    wait.timeout = timeout_of(record.timeout_ms);
    switch (record.kind) {
      case BlockingKind::monitor_enter:
      case BlockingKind::monitor_wait: {
        const auto lock = records_.monitor(record.pointer);
        if (!lock) continue;
        if (record.kind == BlockingKind::monitor_wait) return monitor_wait(lock->object, record, candidates(at));
        wait.kind = WaitKind::monitor;
        wait.object = object(lock->object);
        wait.waiters = lock->waiters;
        describe_owner(*lock, wait);
        return wait;
      }
      case BlockingKind::lock:
      case BlockingKind::condition: {
        if (records_.has_locks()) return wait_for_lock(at, record);
        const auto lock = records_.lock(record.pointer);
        wait.object = object(record.pointer);
        wait.kind = record.kind == BlockingKind::lock ? WaitKind::lock : WaitKind::condition;
        if (lock && record.kind == BlockingKind::lock) describe_owner(*lock, wait);
        return wait;
      }
    }
  }
  return {};
}

/// A monitor that its owner held when it ended keeps the owner's managed id, mostly without a thread id, and a Lock the
/// thread id: nobody is left to leave it. Ids of threads that have ended are given to new ones: whom both ids do not
/// name is not the owner. In a running process the owner may be younger than the list of threads: then its thread id is
/// reported, and the caller knows whether there is such a thread.
void ThreadWaits::describe_owner(const LockState& lock, ThreadWait& wait) {
  if (lock.is_by_managed_id) return describe_managed_owner(lock.managed_owner, lock.object, bcl::Lock::kOwner, wait);
  constexpr std::uint64_t kNone = 0, kOrphan = ~std::uint64_t{0};
  const ManagedThread* owner = nullptr;
  bool is_dead = false;
  for (const ManagedThread& t : threads_) {
    if (lock.managed_owner != 0 ? t.id != lock.managed_owner : t.os_id != lock.owner) continue;
    if (t.is_dead())
      is_dead = lock.managed_owner != 0;
    else
      owner = &t;
  }
  const bool has_thread_id = lock.owner != kNone && lock.owner != kOrphan;
  if (!has_thread_id && lock.managed_owner == 0) return;
  if (owner != nullptr && owner->os_id != lock.owner) return;
  if (owner != nullptr || (has_thread_id && !is_dead && (now_ != nullptr || !are_all_)))
    wait.owners.push_back(static_cast<std::uint32_t>(lock.owner));
  else
    wait.owner_has_ended = is_dead || are_all_;
}

/// A word is taken for a reference where it is aligned and neither on the stack nor small. Programs have the lower 48
/// bits on AArch64, and their heaps lie at the end of them; 47 on x86-64.
bool ThreadWaits::may_be_object(Address word, const WaitingThread& at) const {
  constexpr Address kLowest = 1 << 16, kHighest = Address{1} << 48;
  return word % 8 == 0 && word >= kLowest && word < kHighest && !at.thread->stack.contains(word);
}

/// On the stack of the innermost managed frames, and in registers.
std::vector<Address> ThreadWaits::words_of(const WaitingThread& at) const {
  Address end = at.frames.front().sp;
  unsigned managed = 0;
  for (const WaitFrame& f : at.frames) {
    if (f.cfa > end) end = f.cfa;
    if (f.is_managed && ++managed == kManagedFrames) break;
  }
  const Address begin = at.frames.front().sp & ~Address{7};
  std::vector<Address> words(std::min<std::size_t>((end - begin) / 8, kMostWords));
  const auto n = objects_.memory().reader().read_some(begin, std::as_writable_bytes(std::span(words)));
  words.resize(n ? *n / sizeof(Address) : 0);
  // Native frames keep callee-saved registers of their managed callers among these words, the innermost frame its own.
  if (at.registers != nullptr)
    for (unsigned r = 0; r < Registers::kMax; r++)
      if (const auto v = at.registers->get(r)) words.push_back(*v);
  return words;
}

ThreadWaits::Candidates ThreadWaits::candidates(const WaitingThread& at) {
  Candidates found;
  std::unordered_set<Address> seen;
  for (const Address word : words_of(at)) {
    if (!may_be_object(word, at) || !seen.insert(word).second) continue;
    const Address type = objects_.type_of(word);
    if (type == 0) continue;
    found.push_back({word, type});
    if (found.size() == kMostObjects) break;
  }
  return found;
}

WaitedObject ThreadWaits::object(Address address) {
  WaitedObject o{address, name_with_arguments(objects_.types(), objects_.type_of(address)), {}};
  if (o.type != bcl::RuntimeType::kType) return o;
  // A lock on a type: which one.
  if (const auto handle = objects_.value<std::uint64_t>(address, bcl::RuntimeType::kHandle))
    if (std::string name = objects_.types().csharp_name(*handle); !name.empty()) o.type = "typeof(" + name + ")";
  return o;
}

/// `lock` is what objects that wait with a monitor have of it: its object, of a Lock without one the Lock.
ThreadWait ThreadWaits::monitor_wait(Address lock, const BlockingRecord& record, const Candidates& found) {
  ThreadWait wait;
  wait.kind = WaitKind::monitor_wait;
  wait.proof = Proof::recorded;
  wait.object = object(lock);
  wait.timeout = timeout_of(record.timeout_ms);
  LoadedTypes& types = objects_.types();
  for (const Candidate& c : found) {
    if (types.is_a(c.type, bcl::ResetEventSlim::kType)) {
      if (objects_.reference(c.address, bcl::ResetEventSlim::kLock) != lock) continue;
      wait.proof = Proof::proved;
      wait.kind = WaitKind::reset_event_slim;
      wait.object = object(c.address);
      if (!by_event(c.address, found, wait)) (void)by_socket(c.address, found, wait);
      return wait;
    }
    if (types.is_a(c.type, bcl::SemaphoreSlim::kType)) {
      if (objects_.reference(c.address, bcl::SemaphoreSlim::kLock) != lock) continue;
      wait.proof = Proof::proved;
      wait.kind = WaitKind::semaphore_slim;
      wait.object = object(c.address);
      const auto count = objects_.value<std::int32_t>(c.address, bcl::SemaphoreSlim::kCount);
      const auto waiting = objects_.value<std::int32_t>(c.address, bcl::SemaphoreSlim::kWaiters);
      if (waiting && *waiting > 0) wait.waiters = static_cast<std::uint32_t>(*waiting);
      if (count) wait.object.detail = "count " + std::to_string(*count);
      (void)by_semaphore(c.address, found, wait);
      return wait;
    }
  }
  return wait;
}

/// Finds the object that sets the event: a task, several, a countdown, a barrier.
bool ThreadWaits::by_event(Address event, const Candidates& found, ThreadWait& wait) {
  LoadedTypes& types = objects_.types();
  const bool counts_tasks = has(wait.object.type, bcl::kCountsTasks);  // Task.WaitAll's
  for (const Candidate& c : found) {
    if (!counts_tasks && types.is_a(c.type, bcl::Task::kType) && continues_with(c.address, event)) {
      wait.kind = WaitKind::task;
      describe_task(c.address, wait);
      if (wait.kind == WaitKind::task && has(wait.object.type, bcl::kSemaphoreNode))
        wait = semaphore_of_node(wait, found);
      return true;
    }
    if (types.is_a(c.type, bcl::CountdownEvent::kType) &&
        objects_.reference(c.address, bcl::CountdownEvent::kEvent) == event) {
      wait.kind = WaitKind::countdown;
      wait.object = object(c.address);
      if (const auto n = objects_.value<std::int32_t>(c.address, bcl::CountdownEvent::kCount))
        wait.object.detail = "count " + std::to_string(*n);
      return true;
    }
    if (types.is_a(c.type, bcl::Barrier::kType) && (objects_.reference(c.address, bcl::Barrier::kOddEvent) == event ||
                                                    objects_.reference(c.address, bcl::Barrier::kEvenEvent) == event)) {
      wait.kind = WaitKind::barrier;
      wait.object = object(c.address);
      wait.timeout.reset();  // it waits in pieces, again and again
      return true;
    }
  }
  return all_of_event(event, found, wait);
}

/// A socket that .NET made non-blocking is waited for with an event, which the operation has that waits for it.
bool ThreadWaits::by_socket(Address event, const Candidates& found, ThreadWait& wait) {
  const auto is_of_event = [&](const Candidate& c) {
    return objects_.types().is_a(c.type, bcl::SocketOperation::kType) &&
           objects_.reference(c.address, bcl::SocketOperation::kEvent) == event;
  };
  const auto operation = std::find_if(found.begin(), found.end(), is_of_event);
  if (operation == found.end()) return false;
  const Address context = objects_.reference(operation->address, bcl::SocketOperation::kContext).value_or(0);
  const Address handle = objects_.reference(context, bcl::SocketContext::kHandle).value_or(0);
  if (!objects_.is_a(handle, bcl::kSafeSocketHandle)) return false;
  const auto descriptor = objects_.value<std::int64_t>(handle, bcl::SafeHandle::kNumber);
  if (!descriptor || *descriptor < 0 || *descriptor > INT32_MAX) return false;
  wait.kind = WaitKind::socket;
  wait.object = {handle, "file descriptor " + std::to_string(*descriptor), {}};
  wait.descriptor = static_cast<std::int32_t>(*descriptor);
  return true;
}

/// Process.WaitForExit waits for an event of the process's state, which the Process leads to.
bool ThreadWaits::by_process(const Handles& handles, const Candidates& found, ThreadWait& wait) {
  for (const Candidate& c : found) {
    Address state = c.address;
    if (objects_.types().is_a(c.type, bcl::Process::kType))
      state = objects_
                  .reference(objects_.reference(c.address, bcl::Process::kStateHolder).value_or(0),
                             bcl::ProcessStateHolder::kState)
                  .value_or(0);
    if (!objects_.is_a(state, bcl::ProcessState::kType)) continue;
    const Address event = objects_.reference(state, bcl::ProcessState::kExited).value_or(0);
    if (!is_waited(handles, event)) continue;
    wait.kind = WaitKind::child_process;
    wait.proof = Proof::proved;
    wait.object = {};
    if (const auto pid = objects_.value<std::int32_t>(state, bcl::ProcessState::kId); pid && *pid > 0)
      wait.object.type = std::to_string(*pid);
    return true;
  }
  return false;
}

bool ThreadWaits::by_semaphore(Address semaphore, const Candidates& found, ThreadWait& wait) {
  for (const Candidate& c : found) {
    const TypeFacts* type = objects_.types().at(c.type);
    if (type == nullptr || type->name != bcl::BlockingCollection::kType) continue;
    const bool takes = objects_.reference(c.address, bcl::BlockingCollection::kOccupied) == semaphore;
    if (!takes && objects_.reference(c.address, bcl::BlockingCollection::kFree) != semaphore) continue;
    wait.kind = WaitKind::blocking_collection;
    wait.object = object(c.address);
    wait.object.detail = takes ? "empty" : "full";
    return true;
  }
  return false;
}

std::uint64_t ThreadWaits::os_id_of_managed(std::int32_t id) const {
  for (const ManagedThread& t : threads_)
    if (id > 0 && t.id == static_cast<std::uint32_t>(id) && !t.is_dead()) return t.os_id;
  return 0;
}

/// Owners that block waiters for `event`, one of the lock's four: a reader is blocked by a writer only, an upgradeable
/// reader by another one and a writer, a writer by all.
void ThreadWaits::describe_reader_writer_lock(const WaitingThread& at, Address lock, std::string_view event,
                                              ThreadWait& wait) {
  wait.kind = WaitKind::reader_writer_lock;
  wait.object = object(lock);
  wait.is_reading = event == bcl::ReaderWriterLock::kReadEvent;
  for (const std::string_view field : {bcl::ReaderWriterLock::kWriter, bcl::ReaderWriterLock::kUpgrader}) {
    if (wait.is_reading && field == bcl::ReaderWriterLock::kUpgrader) continue;
    const std::int32_t id = objects_.value<std::int32_t>(lock, field).value_or(-1);
    if (id > 0) describe_managed_owner(static_cast<std::uint32_t>(id), lock, field, wait);
  }
  // Where nobody writes, a writer that waits holds up the readers that come after it: all wait for those who read now.
  const bool is_written = wait.is_reading && (!wait.owners.empty() || wait.owner_has_ended);
  if (!is_written && event != bcl::ReaderWriterLock::kUpgradeEvent) add_readers(lock, wait);
  wait.gives_up = may_give_up(at);
}

/// Each thread keeps a list of the locks that it reads under.
void ThreadWaits::add_readers(Address lock, ThreadWait& wait) {
  const auto lock_id = objects_.value<std::int64_t>(lock, bcl::ReaderWriterLock::kId);
  const Address type = objects_.type_of(lock);
  std::size_t readers = 0;
  for (const ManagedThread& t : threads_) {
    if (!lock_id || t.os_id == 0 || t.is_dead()) continue;
    Address count = objects_.thread_static_reference(t.address, type, bcl::ReaderWriterLock::kCounts).value_or(0);
    for (std::size_t i = 0; count != 0 && i < kMostMembers; i++) {
      const auto id = objects_.value<std::int64_t>(count, bcl::ReaderWriterCount::kLockId);
      const auto reads = objects_.value<std::int32_t>(count, bcl::ReaderWriterCount::kReads);
      if (id == lock_id && reads && *reads > 0) {
        readers++;
        wait.owners.push_back(static_cast<std::uint32_t>(t.os_id));
        break;
      }
      count = objects_.reference(count, bcl::ReaderWriterCount::kNext).value_or(0);
    }
  }
  if (readers != 0 && !wait.is_reading)
    wait.object.detail = std::to_string(readers) + (readers == 1 ? " reads" : " read");
}

/// The futex call's fourth argument is a time-out. A call that is not known may have one.
bool ThreadWaits::may_give_up(const WaitingThread& at) { return at.call[0] == 0 || at.call[3] != 0; }

/// The holder, where it can be told.
void ThreadWaits::describe_mutex(const WaitingThread& at, ThreadWait& wait) {
  const Address mutex = wait.object.address;
  const std::uint64_t owner = !records_.has_locks()
                                  ? mutex_owner(objects_.memory().reader(), at.call[0], at.thread->os_id)
                                  : os_id_of_object(subsystem_.owner_of(
                                        subsystem_.kind_of(mutex).empty() ? subsystem_.waitable_of(mutex) : mutex));
  const auto is_it = [owner](const ManagedThread& t) { return t.os_id == owner && !t.is_dead(); };
  if (owner == 0 || std::none_of(threads_.begin(), threads_.end(), is_it)) return;
  wait.owners = {static_cast<std::uint32_t>(owner)};
  wait.gives_up = may_give_up(at);
}

/// WaitAll or WaitAny of one handle is a wait for that one.
void ThreadWaits::describe_only_handle(const WaitingThread& at, ThreadWait& wait) {
  wait.kind = WaitKind::wait_handle;
  wait.others.clear();
  if (objects_.is_a(wait.object.address, bcl::kMutex)) describe_mutex(at, wait);
  if (!wait.owners.empty()) wait.proof = Proof::proved;  // that the thread waits for a mutex is, and this is the one
}

/// SignalAndWait has two handles. Only a mutex with an owner proves that it is the one that is waited for.
ThreadWait ThreadWaits::one_of_two_handles(const WaitingThread& at, const Candidates& found) {
  ThreadWait wait;
  wait.kind = WaitKind::wait_handle;
  wait.proof = Proof::recorded;
  describe_mutex(at, wait);
  std::vector<Address> mutexes;
  for (const Candidate& c : found)
    if (objects_.types().is_a(c.type, bcl::kMutex)) mutexes.push_back(c.address);
  if (!wait.owners.empty() && mutexes.size() == 1) wait.object = object(mutexes.front());
  return wait;
}

/// Several, whose array is on the stack.
bool ThreadWaits::several_handles(const WaitingThread& at, const Handles& handles, const Candidates& found,
                                  ThreadWait& wait) {
  for (const Candidate& c : found) {
    const TypeFacts* type = objects_.types().at(c.type);
    if (type == nullptr || !type->is_array) continue;
    std::vector<WaitedObject> members;
    for (const Address m : objects_.references_in(c.address, kMostMembers))
      if (objects_.is_a(m, bcl::WaitHandle::kType)) members.push_back(object(m));
    if (members.empty() || (handles.recorded && !are_members(members, *handles.recorded))) continue;
    wait.kind = WaitKind::wait_handles;
    wait.proof = handles.recorded ? Proof::recorded : Proof::likely;
    wait.object = members.front();
    wait.others = std::move(members);
    if (wait.others.size() == 1) describe_only_handle(at, wait);
    return true;
  }
  return false;
}

ThreadWait ThreadWaits::handle_wait(const WaitingThread& at, const Candidates& found) {
  LoadedTypes& types = objects_.types();
  ThreadWait wait;
  const Handles handles = handles_of(at, found);
  if (by_process(handles, found, wait)) return wait;
  const bool are_several = std::any_of(bcl::kWaitsForSeveral.begin(), bcl::kWaitsForSeveral.end(),
                                       [&](std::string_view part) { return is_inside(at, part); });
  if (are_several && several_handles(at, handles, found, wait)) return wait;
  for (const Candidate& c : found) {
    if (!types.is_a(c.type, bcl::ReaderWriterLock::kType)) continue;
    for (const std::string_view field :
         {bcl::ReaderWriterLock::kWriteEvent, bcl::ReaderWriterLock::kReadEvent, bcl::ReaderWriterLock::kUpgradeEvent,
          bcl::ReaderWriterLock::kWaitUpgradeEvent}) {
      if (!is_waited(handles, objects_.reference(c.address, field).value_or(0))) continue;
      wait.proof = Proof::proved;
      describe_reader_writer_lock(at, c.address, field, wait);
      return wait;
    }
  }
  if (!handles.recorded && is_inside(at, bcl::kSignalAndWait)) return one_of_two_handles(at, found);
  for (const Candidate& c : found) {
    if (are_several && handles.recorded && handles.recorded->waitables.size() != 1) break;
    if (!types.is_a(c.type, bcl::WaitHandle::kType) || !is_waited(handles, c.address)) continue;
    wait.kind = WaitKind::wait_handle;
    wait.proof = handles.recorded ? Proof::recorded : Proof::proved;
    wait.object = object(c.address);
    if (is_of_fsharp_result(c.address, found)) wait.object.detail = "the result of F#'s async { }";
    if (has(wait.object.type, bcl::kProcessWaitHandle)) wait.kind = WaitKind::child_process;
    if (types.is_a(c.type, bcl::kMutex)) describe_mutex(at, wait);
    return wait;
  }
  if (!are_several) wait = handle_behind(at, handles, found);
  return wait.kind == WaitKind::none && handles.recorded ? waitables(at, *handles.recorded, found) : wait;
}

ThreadWait ThreadWaits::join(const WaitingThread& at, const Candidates& found) {
  ThreadWait wait = recorded_join(at, found);
  if (wait.kind != WaitKind::none) return wait;
  for (const Candidate& c : found) {
    if (!objects_.types().is_a(c.type, bcl::Thread::kType)) continue;
    const Address native = objects_.value<std::uint64_t>(c.address, bcl::Thread::kNative).value_or(0);
    const auto is_it = [native](const ManagedThread& t) { return t.address == native; };
    const auto other = std::find_if(threads_.begin(), threads_.end(), is_it);
    if (other == threads_.end() || other->address == at.thread->address) continue;
    wait.kind = WaitKind::thread_join;
    wait.proof = Proof::likely;
    wait.object = object(c.address);
    if (other->os_id != 0 && !other->is_dead()) wait.owners = {static_cast<std::uint32_t>(other->os_id)};
    return wait;
  }
  return wait;
}

// Thread::m_pBlockingLock (src/coreclr/vm/threads.h) leads to the entry of a class constructor that runs: its holder,
// and the class (ListLockEntry in src/coreclr/vm/listlock.h). Offsets of 10.0, proved by both being what they must be.
ThreadWait ThreadWaits::class_constructor(const ManagedThread& thread) {
  constexpr std::uint32_t kBlockingLock = 24, kHolder = 0, kClass = 16;
  ThreadWait wait;
  const Address entry = objects_.read<std::uint64_t>(thread.address + kBlockingLock).value_or(0);
  if (entry == 0 || entry % 8 != 0) return wait;
  const Address holder = objects_.read<std::uint64_t>(entry + kHolder).value_or(0);
  const Address type = objects_.read<std::uint64_t>(entry + kClass).value_or(0);
  const auto is_holder = [holder](const ManagedThread& t) { return t.address == holder; };
  const auto owner = std::find_if(threads_.begin(), threads_.end(), is_holder);
  if (owner == threads_.end() || objects_.types().at(type) == nullptr) return wait;
  wait.kind = WaitKind::class_constructor;
  wait.proof = Proof::recorded;
  wait.object = {type, objects_.types().csharp_name(type), {}};
  if (owner->os_id != 0) wait.owners = {static_cast<std::uint32_t>(owner->os_id)};
  return wait;
}

ThreadWait ThreadWaits::finalizers() const {
  ThreadWait wait;
  wait.kind = WaitKind::finalizers;
  wait.proof = Proof::recorded;
  if (finalizer_ != 0) wait.owners = {static_cast<std::uint32_t>(finalizer_)};
  return wait;
}

/// Registration.Dispose waits, in a loop of naps, until the callback that runs is another.
ThreadWait ThreadWaits::callback(const WaitingThread& at) {
  const auto field = objects_.types().field(objects_.types().find(bcl::kCoreLib, bcl::Registrations::kType),
                                            bcl::Registrations::kRunning);
  if (!field || field->is_static) return {};
  // On ARM64 the loop keeps the place of the field that it reads, not the object.
  const Address offset = objects_.memory().pointer_size() + field->offset;
  for (const Address word : words_of(at)) {
    for (const Address all : {word, word - offset}) {
      if (!may_be_object(all, at) || !objects_.types().is_a(objects_.type_of(all), bcl::Registrations::kType)) continue;
      const auto running = objects_.value<std::int64_t>(all, bcl::Registrations::kRunning);
      const auto thread = objects_.value<std::int32_t>(all, bcl::Registrations::kThread);
      if (!running || *running == 0 || !thread) continue;
      ThreadWait wait;
      wait.kind = WaitKind::callback;
      wait.proof = Proof::proved;
      wait.object = object(objects_.reference(all, bcl::Registrations::kSource).value_or(all));
      if (const std::uint64_t id = os_id_of_managed(*thread); id != 0) wait.owners = {static_cast<std::uint32_t>(id)};
      return wait;
    }
  }
  return {};
}

}  // namespace mixstack::dotnet::objects
