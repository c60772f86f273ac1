#include "dotnet/waits/wait_subsystem.h"

#include <algorithm>
#include <array>

#include "dotnet/bcl/threads.h"
#include "dotnet/bcl/types.h"
#include "dotnet/bcl/waits.h"

namespace mixstack::dotnet::objects {
namespace {

/// ThreadWaitInfo.WaitSignalState: Waiting and Waiting_Interruptible; the others say that the wait is over.
constexpr std::uint8_t kLastOfWaiting = 1;

/// WaitableObject.WaitableObjectType.
constexpr std::array<std::string_view, 4> kKinds{"ManualResetEvent", "AutoResetEvent", "Semaphore", "Mutex"};
constexpr std::uint8_t kMutex = 3;

}  // namespace

bool ManagedWait::is_for(Address waitable) const {
  return waitable != 0 && std::find(waitables.begin(), waitables.end(), waitable) != waitables.end();
}

Address WaitSubsystem::thread_object(const ManagedThread& thread) const {
  return thread.thread_object_handle == 0 ? 0 : objects_.read<std::uint64_t>(thread.thread_object_handle).value_or(0);
}

/// The ThreadWaitInfo points back at the thread.
std::optional<ManagedWait> WaitSubsystem::of(const ManagedThread& thread) {
  const Address self = thread_object(thread);
  const Address info = objects_.reference(self, bcl::Thread::kWaitInfo).value_or(0);
  if (!objects_.is_a(info, bcl::WaitInfo::kType) ||
      objects_.reference(info, bcl::WaitInfo::kThread).value_or(0) != self)
    return std::nullopt;
  const auto state = objects_.value<std::uint8_t>(info, bcl::WaitInfo::kState);
  const auto count = objects_.value<std::uint32_t>(info, bcl::WaitInfo::kCount);
  if (!state || *state > kLastOfWaiting || !count || *count > kMostWaitables) return std::nullopt;
  ManagedWait wait;
  wait.is_for_all = objects_.value<std::uint8_t>(info, bcl::WaitInfo::kIsForAll).value_or(0) != 0;
  if (*count == 0) return wait;
  wait.waitables = objects_.references_in(objects_.reference(info, bcl::WaitInfo::kObjects).value_or(0), *count);
  const auto is_one = [&](Address a) { return objects_.is_a(a, bcl::Waitable::kType); };
  if (wait.waitables.size() != *count || !std::all_of(wait.waitables.begin(), wait.waitables.end(), is_one))
    return std::nullopt;
  return wait;
}

Address WaitSubsystem::waitable_of(Address handle) {
  const Address inner = objects_.reference(handle, bcl::WaitHandle::kSafeHandle).value_or(0);
  const Address safe = inner != 0 ? inner : handle;
  if (!objects_.is_a(safe, bcl::kSafeWaitHandle)) return 0;
  // Its number is a GC handle.
  const Address gc_handle = objects_.value<std::uint64_t>(safe, bcl::SafeHandle::kNumber).value_or(0);
  if (gc_handle == 0 || gc_handle % 8 != 0) return 0;
  const Address waitable = objects_.read<std::uint64_t>(gc_handle).value_or(0);
  return objects_.is_a(waitable, bcl::Waitable::kType) || objects_.is_a(waitable, bcl::NamedMutex::kType) ? waitable
                                                                                                          : 0;
}

Address WaitSubsystem::owner_of(Address waitable) {
  Address owner = 0;
  if (objects_.is_a(waitable, bcl::NamedMutex::kType)) {
    const Address header = objects_.reference(waitable, bcl::NamedMutex::kHeader).value_or(0);
    const Address data = objects_.reference(header, bcl::NamedMutexHeader::kData).value_or(0);
    owner = objects_.reference(data, bcl::NamedMutexData::kOwner).value_or(0);
  } else if (objects_.is_a(waitable, bcl::Waitable::kType) &&
             objects_.value<std::uint8_t>(waitable, bcl::Waitable::kKind) == kMutex) {
    owner =
        objects_.reference(objects_.reference(waitable, bcl::Waitable::kOwnership).value_or(0), bcl::Ownership::kThread)
            .value_or(0);
  }
  return objects_.is_a(owner, bcl::Thread::kType) ? owner : 0;
}

Address WaitSubsystem::end_of(const ManagedThread& thread) {
  const Address event = objects_.reference(thread_object(thread), bcl::Thread::kJoinEvent).value_or(0);
  return event == 0 ? 0 : waitable_of(event);
}

std::string_view WaitSubsystem::kind_of(Address waitable) {
  if (!objects_.is_a(waitable, bcl::Waitable::kType))
    return objects_.is_a(waitable, bcl::NamedMutex::kType) ? kKinds[kMutex] : "";
  const auto type = objects_.value<std::uint8_t>(waitable, bcl::Waitable::kKind);
  return type && *type < kKinds.size() ? kKinds[*type] : std::string_view();
}

}  // namespace mixstack::dotnet::objects
