#include "dotnet/waits/wait_subsystem.h"

#include <algorithm>
#include <array>

namespace mixstack::dotnet::objects {
namespace {

constexpr std::string_view kWaitInfo = "System.Threading.WaitSubsystem+ThreadWaitInfo";
constexpr std::string_view kWaitable = "System.Threading.WaitSubsystem+WaitableObject";
constexpr std::string_view kNamedMutex = "System.Threading.WaitSubsystem+NamedMutex";

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
  const Address info = objects_.reference(self, "_waitInfo").value_or(0);
  if (!objects_.is_a(info, kWaitInfo) || objects_.reference(info, "_thread").value_or(0) != self) return std::nullopt;
  const auto state = objects_.value<std::uint8_t>(info, "_waitSignalState");
  const auto count = objects_.value<std::uint32_t>(info, "_waitedCount");
  if (!state || *state > kLastOfWaiting || !count || *count > kMostWaitables) return std::nullopt;
  ManagedWait wait;
  wait.is_for_all = objects_.value<std::uint8_t>(info, "_isWaitForAll").value_or(0) != 0;
  if (*count == 0) return wait;
  wait.waitables = objects_.references_in(objects_.reference(info, "_waitedObjects").value_or(0), *count);
  const auto is_one = [&](Address a) { return objects_.is_a(a, kWaitable); };
  if (wait.waitables.size() != *count || !std::all_of(wait.waitables.begin(), wait.waitables.end(), is_one))
    return std::nullopt;
  return wait;
}

Address WaitSubsystem::waitable_of(Address handle) {
  const Address inner = objects_.reference(handle, "_waitHandle").value_or(0);
  const Address safe = inner != 0 ? inner : handle;
  if (!objects_.is_a(safe, "Microsoft.Win32.SafeHandles.SafeWaitHandle")) return 0;
  // Its number is a GC handle.
  const Address gc_handle = objects_.value<std::uint64_t>(safe, "handle").value_or(0);
  if (gc_handle == 0 || gc_handle % 8 != 0) return 0;
  const Address waitable = objects_.read<std::uint64_t>(gc_handle).value_or(0);
  return objects_.is_a(waitable, kWaitable) || objects_.is_a(waitable, kNamedMutex) ? waitable : 0;
}

Address WaitSubsystem::owner_of(Address waitable) {
  Address owner = 0;
  if (objects_.is_a(waitable, kNamedMutex)) {
    const Address header = objects_.reference(waitable, "_processDataHeader").value_or(0);
    const Address data = objects_.reference(header, "_processData").value_or(0);
    owner = objects_.reference(data, "_lockOwnerThread").value_or(0);
  } else if (objects_.is_a(waitable, kWaitable) && objects_.value<std::uint8_t>(waitable, "_type") == kMutex) {
    owner = objects_.reference(objects_.reference(waitable, "_ownershipInfo").value_or(0), "_thread").value_or(0);
  }
  return objects_.is_a(owner, "System.Threading.Thread") ? owner : 0;
}

Address WaitSubsystem::end_of(const ManagedThread& thread) {
  const Address event = objects_.reference(thread_object(thread), "_joinEvent").value_or(0);
  return event == 0 ? 0 : waitable_of(event);
}

std::string_view WaitSubsystem::kind_of(Address waitable) {
  if (!objects_.is_a(waitable, kWaitable)) return objects_.is_a(waitable, kNamedMutex) ? kKinds[kMutex] : "";
  const auto type = objects_.value<std::uint8_t>(waitable, "_type");
  return type && *type < kKinds.size() ? kKinds[*type] : std::string_view();
}

}  // namespace mixstack::dotnet::objects
