// Machinery of async methods, and the objects in which suspended ones lie.
#pragma once

#include "dotnet/bcl/kinds.h"

namespace mixstack::dotnet::bcl {

/// In which object is a suspended method of the compiler's kind? That of a debuggable one derives from the first.
struct Box {
  static constexpr TypeName kType = "System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1";
  static constexpr FieldName kMachine = "StateMachine";
};
inline constexpr TypeName kPooledBox =
    "System.Runtime.CompilerServices.PoolingAsyncValueTaskMethodBuilder`1+StateMachineBox`1";
/// Which methods are its own?
inline constexpr NamePart kBoxMethods = "StateMachineBox<";

/// In which object is a suspended method of the runtime's kind (`runtime_async`)?
struct Continuation {
  static constexpr TypeName kType = "System.Runtime.CompilerServices.Continuation";  // [10-11]
  static constexpr FieldName kNext = "Next";
  static constexpr FieldName kState = "State";
  static constexpr FieldName kResume = "Resume";  // [10]
  static constexpr FieldName kData = "GCData";    // [10]
};

/// Which task do callers of such methods get?
inline constexpr TypeName kThunkTask = "System.Runtime.CompilerServices.AsyncHelpers+ThunkTask";           // [10]
inline constexpr TypeName kThunkTaskOfValue = "System.Runtime.CompilerServices.AsyncHelpers+ThunkTask`1";  // [10]
inline constexpr TypeName kRuntimeAsyncTask =
    "System.Runtime.CompilerServices.AsyncHelpers+RuntimeAsyncTask`1";  // [11]

/// What does the first of them await?
struct AwaitsTask {
  static constexpr TypeName kType = "System.Runtime.CompilerServices.RuntimeAsyncTaskContinuation";  // [11]
  static constexpr FieldName kTask = "Task";
  static constexpr FieldName kOwnTask = "RuntimeAsyncTask";
};
struct AwaitsSource {
  static constexpr TypeName kType = "System.Runtime.CompilerServices.AsyncHelpers+ValueTaskSourceContinuation";  // [11]
  static constexpr FieldName kSource = "Source";
};

/// Which of them does a thread run?
struct Dispatcher {
  static constexpr TypeName kType = "System.Runtime.CompilerServices.AsyncDispatcherInfo";  // [11]
  static constexpr FieldName kCurrent = "t_current";
  static constexpr FieldName kNextContinuation = "NextContinuation";
  static constexpr FieldName kTask = "CurrentTask";
  static constexpr FieldName kNext = "Next";
};
/// Which method lets them go on?
inline constexpr NameStart kDispatches = "System.Runtime.CompilerServices.AsyncHelpers.ThunkTaskCore.MoveNext";  // [10]
inline constexpr NameStart kTaskMethods = "System.Runtime.CompilerServices.AsyncHelpers.RuntimeAsyncTask<";      // [11]
inline constexpr NamePart kDispatchMethod = ">.DispatchContinuations(";                                          // [11]
/// Which methods stand between them and others?
inline constexpr NameStart kHelpers = "System.Runtime.CompilerServices.AsyncHelpers.";  // [10-11]

inline constexpr NameStart kPoolingBuilder = "System.Runtime.CompilerServices.PoolingAsyncValueTaskMethodBuilder";

/// What is between a method and who called it first?
inline constexpr std::array<NameStart, 8> kStarting{
    "System.Runtime.CompilerServices.AsyncMethodBuilderCore.Start<",
    "System.Runtime.CompilerServices.AsyncTaskMethodBuilder.Start<",
    "System.Runtime.CompilerServices.AsyncTaskMethodBuilder<",
    "System.Runtime.CompilerServices.AsyncValueTaskMethodBuilder.Start<",
    "System.Runtime.CompilerServices.AsyncValueTaskMethodBuilder<",
    "System.Runtime.CompilerServices.AsyncVoidMethodBuilder.Start<",
    "System.Runtime.CompilerServices.AsyncIteratorMethodBuilder.MoveNext<",
    kPoolingBuilder,
};

/// Where is the result of F#'s `async { }` that others want, which is no async method, and has such been begun at all?
inline constexpr AssemblyName kFSharpCore = "FSharp.Core";  // [none]
struct FSharpResult {
  static constexpr TypeName kType = "Microsoft.FSharp.Control.AsyncPrimitives+ResultCell`1";  // [none]
  static constexpr FieldName kResult = "result";                                              // [none]
  static constexpr FieldName kIsClosed = "disposed";                                          // [none]
  static constexpr FieldName kRoot = "syncRoot";                                              // [none]
  static constexpr FieldName kEvent = "resEvent";                                             // [none]
};
inline constexpr TypeName kFSharpActivation = "Microsoft.FSharp.Control.AsyncActivationContents`1";  // [none]

/// In whose context does a box call its method?
inline constexpr NameStart kContextMethods = "System.Threading.ExecutionContext.";

/// Methods between a resumed method and the pool or the method that resumed it, without those a thread begins with.
inline constexpr std::array<NameStart, 14> kResuming{
    "System.Runtime.CompilerServices.AsyncTaskMethodBuilder",
    "System.Runtime.CompilerServices.AsyncValueTaskMethodBuilder",
    kPoolingBuilder,
    "System.Runtime.CompilerServices.TaskAwaiter.",
    "System.Threading.ExecutionContext.Run",
    "System.Threading.Tasks.AwaitTaskContinuation.",
    "System.Threading.Tasks.SynchronizationContextAwaitTaskContinuation.",
    "System.Threading.Tasks.TaskSchedulerAwaitTaskContinuation.",
    "System.Threading.Tasks.Task.RunContinuations(",
    "System.Threading.Tasks.Task.FinishContinuations(",
    "System.Threading.Tasks.Task.FinishSlow(",
    "System.Threading.Tasks.Task.FinishStageTwo(",
    "System.Threading.Tasks.Task.TrySetResult(",
    "System.Threading.Tasks.Task.ExecuteWithThreadLocal(",
};

}  // namespace mixstack::dotnet::bcl
