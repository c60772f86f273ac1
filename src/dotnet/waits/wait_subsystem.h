// The managed wait subsystem of .NET 11 (System.Private.CoreLib, src/System/Threading/WaitSubsystem*.cs): which events,
// semaphores and mutexes each thread waits for, and who holds the mutexes.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "dotnet/code/threads.h"
#include "dotnet/heap/managed_objects.h"

namespace mixstack::dotnet::objects {

/// Contents of a thread's ThreadWaitInfo while it waits.
struct ManagedWait {
  std::vector<Address> waitables;  ///< WaitableObjects that it waits for; none: it sleeps
  bool is_for_all = false;         ///< of several: for all of them
  [[nodiscard]] bool is_for(Address waitable) const;
};

/// Not thread-safe. Borrows the objects.
class WaitSubsystem {
 public:
  static constexpr std::uint32_t kMostWaitables = 64;  ///< of one thread (WaitHandle.MaxWaitHandles)

  explicit WaitSubsystem(ManagedObjects& objects) : objects_(objects) {}

  /// Nothing: the thread does not wait this way, or what it keeps cannot be read.
  [[nodiscard]] std::optional<ManagedWait> of(const ManagedThread& thread);
  /// The managed object of a thread; 0: it has none.
  [[nodiscard]] Address thread_object(const ManagedThread& thread) const;
  /// The object behind a SafeWaitHandle, or an event, mutex or semaphore of the program: a WaitableObject, or a named
  /// mutex. 0: not known.
  [[nodiscard]] Address waitable_of(Address handle);
  /// The managed object of the thread that holds a mutex, a named one, too; 0: nobody, or it is none.
  [[nodiscard]] Address owner_of(Address waitable);
  /// The WaitableObject that is signalled when a thread ends; 0: nobody has joined it yet.
  [[nodiscard]] Address end_of(const ManagedThread& thread);
  /// "AutoResetEvent", as the program calls it; empty: it is none.
  [[nodiscard]] std::string_view kind_of(Address waitable);

 private:
  ManagedObjects& objects_;
};

}  // namespace mixstack::dotnet::objects
