// Locks that the program or a library wrote itself: what an object that nobody lists does with an event.
//
// In: a wait whose end no owner is known of, and the objects on the thread's stack. Out: the same wait, or a wait for
// the lock that it is a part of, with its owner. A lock is an object that refers to what the thread waits for (or,
// where it naps or spins, whose method it is in) and has a field that names a thread, by reference or by managed id.
// Both must be so, and of one object alone: then it is "likely", for a field may keep an owner that has left. Bounds:
// the candidates of one thread, 64 fields of each type, 8 types that it derives from.
#include <algorithm>
#include <array>
#include <unordered_set>

#include "dotnet/bcl/locks.h"
#include "dotnet/bcl/threads.h"
#include "dotnet/bcl/types.h"
#include "dotnet/bcl/waits.h"
#include "dotnet/names/type_tree.h"
#include "dotnet/waits/thread_waits.h"

namespace mixstack::dotnet::objects {
namespace {

using names::ElementType;

constexpr std::size_t kMostFields = 64;
constexpr unsigned kMostBases = 8;

bool contains(std::string_view text, std::string_view lower) {
  const auto is_same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
  return std::search(text.begin(), text.end(), lower.begin(), lower.end(), is_same) != text.end();
}

/// Whether a field's name says that it holds an owner. A number needs such a name, since any small number is some
/// thread's id. Counts are excluded: "_owners", "_ownerCount".
bool names_an_owner(std::string_view field) {
  constexpr std::array<std::string_view, 6> kWords{"owner", "holder", "heldby", "lockedby", "writerid", "writerthread"};
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view w) { return contains(field, w); }) &&
         !contains(field, "count") && !contains(field, "level") && !field.ends_with('s');
}

/// 1 is the main thread, and what flags are set to.
bool may_be_id(std::int32_t number, std::string_view field) {
  return number != 1 || contains(field, "id") || contains(field, "thread");
}

/// Whether a type's name says that it is a lock: then its reference to a thread is its owner, whatever field it is in.
bool is_called_a_lock(std::string_view type) {
  constexpr std::array<std::string_view, 5> kWords{"lock", "mutex", "semaphore", "latch", "guard"};
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view w) { return contains(type, w); });
}

/// Ends when somebody else acts, and the runtime does not know who.
bool has_unknown_end(const ThreadWait& wait) {
  if (!wait.owners.empty() || wait.owner_has_ended) return false;
  switch (wait.kind) {
    case WaitKind::wait_handle:
    case WaitKind::reset_event_slim:
    case WaitKind::semaphore_slim:
    case WaitKind::monitor_wait:
    case WaitKind::condition:
      return wait.object.address != 0;
    case WaitKind::sleep:
    case WaitKind::none:
      return true;
    default:
      return false;
  }
}

/// "Shop.Cache<int>.Enter(" is a method of "Shop.Cache<int>" and of "Shop.Cache`1".
bool is_method_of(std::string_view method, std::string_view type) {
  const std::string_view bare = type.substr(0, type.find_first_of("<`"));
  if (bare.empty() || !method.starts_with(bare) || method.size() == bare.size()) return false;
  const char next = method[bare.size()];
  return next == '.' || next == '<';
}

/// Methods that only call the runtime are inlined: then what the runtime does for them says which they are.
bool is_spinning(const WaitingThread& at) {
  const auto spins = [](const WaitFrame& f) {
    return f.is_managed && (f.method.starts_with(bcl::kSpinWaitMethods) || f.method.starts_with(bcl::kYield));
  };
  const auto is_managed = [](const WaitFrame& f) { return f.is_managed; };
  const auto yields = [](const WaitFrame& f) { return f.method.ends_with("sched_yield"); };
  const auto caller = std::find_if(at.frames.begin(), at.frames.end(), is_managed);
  return at.is_pausing || std::any_of(at.frames.begin(), caller, yields) || std::any_of(caller, at.frames.end(), spins);
}

}  // namespace

/// By the fields of the object's own types and of those that it derives from.
template <class Look>
void ThreadWaits::for_each_field(Address type, const Look& look) {
  std::size_t left = kMostFields;
  for (unsigned n = 0; n < kMostBases && type != 0; n++) {
    for (const LoadedTypes::NamedField& field : objects_.types().own_fields(type)) {
      if (field.place.is_static || field.place.is_thread_static) continue;
      if (left-- == 0) return;
      look(field);
    }
    const TypeFacts* facts = objects_.types().at(type);
    type = facts == nullptr ? 0 : facts->parent;
  }
}

ThreadWaits::OwnerField ThreadWaits::owner_field(const Candidate& c, std::string_view type_name) {
  OwnerField found;
  for_each_field(c.type, [&](const LoadedTypes::NamedField& field) {
    const Address at = c.address + objects_.memory().pointer_size() + field.place.offset;
    const bool is_named = names_an_owner(field.name);
    std::uint64_t owner = 0;
    if (field.place.element == ElementType::class_ && (is_named || is_called_a_lock(type_name))) {
      const Address thread = objects_.read<std::uint64_t>(at).value_or(0);
      if (thread != 0 && objects_.is_a(thread, bcl::Thread::kType)) owner = os_id_of_object(thread);
    } else if (field.place.element == ElementType::i4 && is_named) {
      const std::int32_t number = objects_.read<std::int32_t>(at).value_or(0);
      if (may_be_id(number, field.name)) owner = os_id_of_managed(number);
    }
    if (owner == 0) return;
    found.is_ambiguous = found.is_ambiguous || (found.thread != 0 && found.thread != owner);
    found.thread = owner;
    found.name = field.name;
  });
  return found;
}

bool ThreadWaits::refers_to(const Candidate& c, Address object) {
  bool refers = false;
  for_each_field(c.type, [&](const LoadedTypes::NamedField& field) {
    if (field.place.element != ElementType::class_) return;
    const Address at = c.address + objects_.memory().pointer_size() + field.place.offset;
    refers = refers || objects_.read<std::uint64_t>(at).value_or(0) == object;
  });
  return refers;
}

/// Code into which a wait was compiled keeps the system's handle alone, not the program's object: that is a field of an
/// object on the stack, or is not known. Two such objects for one handle: it is not known either.
ThreadWait ThreadWaits::handle_behind(const WaitingThread& at, const Handles& handles, const Candidates& found) {
  std::unordered_set<Address> behind;
  for (const Candidate& c : found)
    for_each_field(c.type, [&](const LoadedTypes::NamedField& field) {
      if (field.place.element != ElementType::class_) return;
      const Address place = c.address + objects_.memory().pointer_size() + field.place.offset;
      const Address handle = objects_.read<std::uint64_t>(place).value_or(0);
      if (handle != 0 && objects_.is_a(handle, bcl::WaitHandle::kType) && is_waited(handles, handle))
        behind.insert(handle);
    });
  ThreadWait wait;
  if (behind.size() == 1) {
    wait.kind = WaitKind::wait_handle;
    wait.proof = handles.recorded ? Proof::recorded : Proof::proved;
    wait.object = object(*behind.begin());
    if (objects_.is_a(*behind.begin(), bcl::kMutex)) describe_mutex(at, wait);
  } else if (!handles.recorded && handles.safe.size() == 1) {
    wait.kind = WaitKind::wait_handle;
    wait.proof = Proof::likely;
    wait.object = object(*handles.safe.begin());
  }
  return wait;
}

/// The class library's older lock: its type is known, and its writer is recorded.
bool ThreadWaits::older_reader_writer_lock(const WaitingThread& at, const Candidate& c, ThreadWait& wait) {
  using Lock = bcl::OlderReaderWriterLock;
  if (!objects_.types().is_a(c.type, Lock::kType)) return false;
  const Address event = wait.object.address;
  wait.is_reading = objects_.reference(c.address, Lock::kReadEvent) == event;
  if (!wait.is_reading && objects_.reference(c.address, Lock::kWriteEvent) != event) return false;
  wait.kind = WaitKind::reader_writer_lock;
  wait.object = object(c.address);
  wait.gives_up = !wait.timeout && may_give_up(at);
  const std::int32_t id = objects_.value<std::int32_t>(c.address, Lock::kWriter).value_or(-1);
  if (id > 0) describe_managed_owner(static_cast<std::uint32_t>(id), c.address, Lock::kWriter, wait);
  return true;
}

ThreadWait ThreadWaits::lock_of_program(const WaitingThread& at, ThreadWait wait) {
  if (!has_unknown_end(wait)) return wait;
  const bool has_object = wait.kind != WaitKind::sleep && wait.kind != WaitKind::none;
  if (wait.kind == WaitKind::none && !is_spinning(at)) return wait;
  ThreadWait of = wait;
  unsigned count = 0;
  for (const Candidate& c : candidates(at)) {
    const TypeFacts* facts = objects_.types().at(c.type);
    if (facts == nullptr || facts->is_array || facts->assembly == bcl::kCoreLib) continue;
    if (has_object && older_reader_writer_lock(at, c, wait)) return wait;
    const std::string name = objects_.types().csharp_name(c.type);
    const auto is_its = [&](const WaitFrame& f) { return f.is_managed && is_method_of(f.method, name); };
    const bool is_lock = has_object ? c.address == wait.object.address || refers_to(c, wait.object.address)
                                    : std::any_of(at.frames.begin(), at.frames.end(), is_its);
    if (!is_lock) continue;
    const OwnerField owner = owner_field(c, facts->name);
    if (owner.thread == 0 || owner.is_ambiguous || owner.thread == at.thread->os_id) continue;
    count++;
    of.kind = WaitKind::lock;
    of.proof = Proof::likely;
    of.object = object(c.address);
    of.object.detail = "by its field " + owner.name;
    of.owners = {static_cast<std::uint32_t>(owner.thread)};
  }
  return count == 1 ? of : wait;
}

}  // namespace mixstack::dotnet::objects
