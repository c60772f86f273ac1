// What is a thread, and what is it for?
#pragma once

#include "dotnet/bcl/kinds.h"
#include "dotnet/bcl/locks.h"
#include "dotnet/bcl/waits.h"

namespace mixstack::dotnet::bcl {

/// What does the object of a thread lead to?
struct Thread {
  static constexpr TypeName kType = "System.Threading.Thread";
  static constexpr FieldName kNative = "_DONT_USE_InternalThread";
  static constexpr FieldName kContext = "_synchronizationContext";
  static constexpr FieldName kWaitInfo = "_waitInfo";    // [11]
  static constexpr FieldName kJoinEvent = "_joinEvent";  // [11]
};
inline constexpr TypeName kSynchronizationContext = "System.Threading.SynchronizationContext";

/// Which method begins every thread that managed code makes?
inline constexpr NameStart kThreadStart = "System.Threading.Thread.Start";

/// Which methods do threads of the framework begin with?
inline constexpr NameStart kPoolWorker = "System.Threading.PortableThreadPool.WorkerThread.WorkerThreadStart(";
inline constexpr NameStart kPoolGate = "System.Threading.PortableThreadPool.GateThread.GateThreadStart(";
inline constexpr NameStart kPoolWaits = "System.Threading.PortableThreadPool.WaitThread.WaitThreadStart(";
inline constexpr NameStart kTimerThread = "System.Threading.TimerQueue.TimerThread(";
inline constexpr NameStart kSocketThread = "System.Net.Sockets.SocketAsyncEngine.EventLoop(";
inline constexpr NameStart kFileWatcher = "System.IO.FileSystemWatcher.RunningInstance.";  // [9-10]
inline constexpr NameStart kFileWatcher11 = "System.IO.FileSystemWatcher.INotify.";        // [11]
inline constexpr NameStart kHeartbeat =
    "Microsoft.AspNetCore.Server.Kestrel.Core.Internal.Infrastructure.Heartbeat.TimerLoop(";
inline constexpr NameStart kConsoleLogger =
    "Microsoft.Extensions.Logging.Console.ConsoleLoggerProcessor.ProcessLogQueue(";

/// Methods that such a thread may have on its stack while it is idle.
inline constexpr std::array<NameStart, 20> kIdling{
    "System.Threading.LowLevel",
    kWaitHandleMethods,
    kWaitSubsystemMethods,
    kConditionMethods,
    kLockMethods,
    "System.Threading.Monitor.",
    "System.Threading.ManualResetEventSlim.Wait(",
    "System.Threading.Thread.",
    "System.Threading.PortableThreadPool.WorkerThread.",
    "System.Threading.PortableThreadPool.GateThread.",
    "System.Threading.PortableThreadPool.WaitThread.",
    kTimerThread,
    kSocketThread,
    kFileWatcher,
    kFileWatcher11,
    kHeartbeat,
    kConsoleLogger,
    "Microsoft.Extensions.Logging.Console.ConsoleLoggerProcessor.TryDequeue(",
    "Interop.Sys.Read(",
    "Interop.Sys.WaitForSocketEvents(",
};

}  // namespace mixstack::dotnet::bcl
