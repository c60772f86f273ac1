// What does a thread wait for that no lock is?
#pragma once

#include "dotnet/bcl/kinds.h"

namespace mixstack::dotnet::bcl {

/// Which handle of the system's kind is it, and who waits with it?
struct WaitHandle {
  static constexpr TypeName kType = "System.Threading.WaitHandle";
  static constexpr FieldName kSafeHandle = "_waitHandle";
};
inline constexpr NameStart kWaitSubsystemMethods = "System.Threading.WaitSubsystem.";  // [11]
inline constexpr TypeName kSafeWaitHandle = "Microsoft.Win32.SafeHandles.SafeWaitHandle";
inline constexpr TypeName kMutex = "System.Threading.Mutex";
inline constexpr NameStart kWaitHandleMethods = "System.Threading.WaitHandle.";
inline constexpr std::array<NamePart, 3> kWaitsForSeveral{"WaitHandle.WaitMultiple", "WaitHandle.WaitAny",
                                                          "WaitHandle.WaitAll"};
inline constexpr NamePart kSignalAndWait = "WaitHandle.SignalAndWait";
/// The event of a child process.
inline constexpr NamePart kProcessWaitHandle = "ProcessWaitHandle";

/// For which of its own objects does a thread of .NET 11 wait, whose handles are the runtime's own?
struct WaitInfo {
  static constexpr TypeName kType = "System.Threading.WaitSubsystem+ThreadWaitInfo";  // [11]
  static constexpr FieldName kThread = "_thread";
  static constexpr FieldName kState = "_waitSignalState";
  static constexpr FieldName kCount = "_waitedCount";
  static constexpr FieldName kObjects = "_waitedObjects";
  static constexpr FieldName kIsForAll = "_isWaitForAll";
};

/// What is such an object?
struct Waitable {
  static constexpr TypeName kType = "System.Threading.WaitSubsystem+WaitableObject";  // [11]
  static constexpr FieldName kKind = "_type";
  static constexpr FieldName kOwnership = "_ownershipInfo";
};

/// The owner of a mutex of them, and of a named one, which processes share.
struct Ownership {
  static constexpr TypeName kType = "System.Threading.WaitSubsystem+WaitableObject+OwnershipInfo";  // [11]
  static constexpr FieldName kThread = "_thread";
};
struct NamedMutex {
  static constexpr TypeName kType = "System.Threading.WaitSubsystem+NamedMutex";  // [11]
  static constexpr FieldName kHeader = "_processDataHeader";
};
struct NamedMutexHeader {
  static constexpr TypeName kType = "System.IO.SharedMemoryProcessDataHeader`1";  // [11]
  static constexpr FieldName kData = "_processData";
};
struct NamedMutexData {
  static constexpr TypeName kType = "System.Threading.NamedMutexProcessDataBase";  // [11]
  static constexpr FieldName kOwner = "_lockOwnerThread";
};

/// Which event is it that waits with a monitor inside?
struct ResetEventSlim {
  static constexpr TypeName kType = "System.Threading.ManualResetEventSlim";
  static constexpr FieldName kLock = "m_lock";
};
/// The event of Task.WaitAll.
inline constexpr NamePart kCountsTasks = "SetOnCountdownMres";

/// Which semaphore is it, and how much is left of it?
struct SemaphoreSlim {
  static constexpr TypeName kType = "System.Threading.SemaphoreSlim";
  static constexpr FieldName kLock = "m_lockObjAndDisposed";
  static constexpr FieldName kCount = "m_currentCount";
  static constexpr FieldName kWaiters = "m_waitCount";
  static constexpr FieldName kAsyncHead = "m_asyncHead";
};
struct SemaphoreNode {
  static constexpr TypeName kType = "System.Threading.SemaphoreSlim+TaskNode";
  static constexpr FieldName kNext = "Next";
};
inline constexpr NamePart kSemaphoreNode = "SemaphoreSlim.TaskNode";

/// Which countdown is it, which barrier, which collection?
struct CountdownEvent {
  static constexpr TypeName kType = "System.Threading.CountdownEvent";
  static constexpr FieldName kEvent = "_event";
  static constexpr FieldName kCount = "_currentCount";
};
struct Barrier {
  static constexpr TypeName kType = "System.Threading.Barrier";
  static constexpr FieldName kOddEvent = "_oddEvent";
  static constexpr FieldName kEvenEvent = "_evenEvent";
};
struct BlockingCollection {
  static constexpr TypeName kType = "System.Collections.Concurrent.BlockingCollection`1";
  static constexpr FieldName kOccupied = "_occupiedNodes";  ///< the semaphore of who takes
  static constexpr FieldName kFree = "_freeNodes";          ///< of who adds
};

/// Which child process is it?
struct Process {
  static constexpr TypeName kType = "System.Diagnostics.Process";
  static constexpr FieldName kStateHolder = "_waitStateHolder";
};
struct ProcessStateHolder {
  static constexpr TypeName kType = "System.Diagnostics.ProcessWaitState+Holder";
  static constexpr FieldName kState = "_state";
};
struct ProcessState {
  static constexpr TypeName kType = "System.Diagnostics.ProcessWaitState";
  static constexpr FieldName kExited = "_exitedEvent";
  static constexpr FieldName kId = "_processId";
};

/// Code that waits for a thread, for finalizers, for time, for the callback of a cancellation.
inline constexpr NameStart kJoin = "System.Threading.Thread.Join";
inline constexpr NameStart kWaitsForFinalizers = "System.GC.WaitForPendingFinalizers";
inline constexpr NameStart kSleep = "System.Threading.Thread.Sleep";
inline constexpr NameStart kYield = "System.Threading.Thread.Yield";
inline constexpr NameStart kSpinWaitMethods = "System.Threading.SpinWait.";
inline constexpr NameStart kWaitsForCallback =
    "System.Threading.CancellationTokenSource.Registrations.WaitForCallbackToComplete";

}  // namespace mixstack::dotnet::bcl
