// When does a task end, and who goes on then?
#pragma once

#include <algorithm>
#include <array>

#include "dotnet/bcl/kinds.h"
#include "dotnet/bcl/waits.h"

namespace mixstack::dotnet::bcl {

/// Has a task ended, what does it run, who goes on behind it, who runs it?
struct Task {
  static constexpr TypeName kType = "System.Threading.Tasks.Task";
  static constexpr FieldName kFlags = "m_stateFlags";
  static constexpr FieldName kAction = "m_action";
  static constexpr FieldName kState = "m_stateObject";
  static constexpr FieldName kContinuation = "m_continuationObject";
  static constexpr FieldName kScheduler = "m_taskScheduler";
  static constexpr FieldName kContingent = "m_contingentProperties";
  static constexpr FieldName kCurrent = "t_currentTask";
};
struct Contingent {
  static constexpr TypeName kType = "System.Threading.Tasks.Task+ContingentProperties";
  static constexpr FieldName kParent = "m_parent";
};

/// The thread that runs a task.
inline constexpr NameStart kRunsTask = "System.Threading.Tasks.Task.ExecuteWithThreadLocal";

/// The task that a dependent task follows.
struct ContinuationTask {
  static constexpr TypeName kType = "System.Threading.Tasks.ContinuationTaskFromTask";
  static constexpr FieldName kAntecedent = "m_antecedent";
};
struct CancellationPromise {
  static constexpr TypeName kType = "System.Threading.Tasks.Task+CancellationPromise`1";
  static constexpr FieldName kTask = "_task";
};

/// For which source of a value does one stand (ValueTask.AsTask)?
struct SourceTask {
  static constexpr TypeName kType = "System.Threading.Tasks.ValueTask+ValueTaskSourceAsTask";
  static constexpr FieldName kSource = "_source";
};
struct SourceTaskOfValue {
  static constexpr TypeName kType = "System.Threading.Tasks.ValueTask`1+ValueTaskSourceAsTask";
  static constexpr FieldName kSource = "_source";
};

/// Which tasks are the ones of which one ends with the first?
struct AnyOfTwo {
  static constexpr TypeName kType = "System.Threading.Tasks.Task+TwoTaskWhenAnyPromise`1";
  static constexpr FieldName kFirst = "_task1";
  static constexpr FieldName kSecond = "_task2";
};
struct AnyOfSeveral {
  static constexpr TypeName kType = "System.Threading.Tasks.TaskFactory+CompleteOnInvokePromise`1";
  static constexpr FieldName kTasks = "_tasks";
};

/// Which task does a source end?
struct CompletionSource {
  static constexpr TypeName kType = "System.Threading.Tasks.TaskCompletionSource";
  static constexpr FieldName kTask = "_task";
};
struct CompletionSourceOfValue {
  static constexpr TypeName kType = "System.Threading.Tasks.TaskCompletionSource`1";
  static constexpr FieldName kTask = "_task";
};

/// What does a continuation lead to?
inline constexpr TypeName kTaskContinuation = "System.Threading.Tasks.TaskContinuation";
struct ContinueWith {
  static constexpr TypeName kType = "System.Threading.Tasks.ContinueWithTaskContinuation";
  static constexpr FieldName kTask = "m_task";
};
struct AwaitContinuation {
  static constexpr TypeName kType = "System.Threading.Tasks.AwaitTaskContinuation";
  static constexpr FieldName kAction = "m_action";
};

/// To which scheduler was a task given?
inline constexpr TypeName kScheduler = "System.Threading.Tasks.TaskScheduler";
inline constexpr TypeName kPoolScheduler = "System.Threading.Tasks.ThreadPoolTaskScheduler";

/// Which type have the tasks that sources end?
inline constexpr TypeName kTaskOfValue = "System.Threading.Tasks.Task`1";
/// Which task ends with the one that another has returned?
inline constexpr NameStart kUnwraps = "System.Threading.Tasks.UnwrapPromise<";

/// With what does a task end that runs nothing?
struct DelayPromise {
  static constexpr TypeName kType = "System.Threading.Tasks.Task+DelayPromise";
  static constexpr FieldName kTimer = "_timer";
};
inline constexpr TypePart kDelay = "+DelayPromise";
inline constexpr TypePart kWhenAll = "+WhenAllPromise";
inline constexpr TypePart kWhenAny = "+WhenAnyPromise";  // [none]
inline constexpr TypePart kWhenAnyOfTwo = "+TwoTaskWhenAnyPromise";
inline constexpr TypePart kOnInvoke = "CompleteOnInvokePromise";
inline constexpr TypePart kSemaphoreTask = "SemaphoreSlim+TaskNode";
inline constexpr TypePart kOnCountdown = "+CompleteOnCountdownPromise";

/// Which tasks end with others?
inline constexpr std::array<TypeName, 5> kJoining{
    "System.Threading.Tasks.UnwrapPromise`1",
    "System.Threading.Tasks.Task+WhenAllPromise",
    "System.Threading.Tasks.Task+WhenAllPromise`1",
    "System.Threading.Tasks.TaskFactory+CompleteOnCountdownPromise",
    "System.Threading.Tasks.TaskFactory+CompleteOnCountdownPromise`1",
};

/// Which threads work for one call of Parallel.ForAsync and ForEachAsync, and which object do they share?
inline constexpr TypeStart kParallelState = "System.Threading.Tasks.Parallel+";
inline constexpr NameStart kParallelMethods = "System.Threading.Tasks.Parallel.For";
inline constexpr std::array<NamePart, 2> kParallelWorkers{"AsyncState<", "Async.lambda("};
/// The shared object's own methods, and the lambda that is each worker's (Parallel.ForEachAsync.cs).
[[nodiscard]] inline bool is_of_parallel_worker(std::string_view method) {
  return method.starts_with(kParallelMethods) &&
         std::any_of(kParallelWorkers.begin(), kParallelWorkers.end(),
                     [&](std::string_view part) { return method.find(part) != std::string_view::npos; });
}
struct ParallelLambda {
  static constexpr TypeStart kType = "System.Threading.Tasks.Parallel+<>c";
  /// Its argument; in .NET 11 the lambda is no state machine.
  static constexpr FieldName kShared = "o";  // [9-10]
};

/// The thread that runs the callback of a cancellation, and those that wait for its end.
inline constexpr TypeName kCancellationSource = "System.Threading.CancellationTokenSource";
struct Registrations {
  static constexpr TypeName kType = "System.Threading.CancellationTokenSource+Registrations";
  static constexpr FieldName kRunning = "ExecutingCallbackId";
  static constexpr FieldName kThread = "ThreadIDExecutingCallbacks";
  static constexpr FieldName kSource = "Source";
};
inline constexpr NameStart kAwaitsCallback =
    "System.Threading.CancellationTokenSource.Registrations.WaitForCallbackToCompleteAsync";
/// Its state machine; in .NET 11 it has none.
struct AwaitsCallback {
  static constexpr TypeStart kType =
      "System.Threading.CancellationTokenSource+Registrations+<WaitForCallbackToCompleteAsync>d__";  // [9-10]
  static constexpr FieldName kCallback = "id";
};

/// Objects that readers and writers of a pipe inside the process await, and the ticks of a timer.
inline constexpr NameStart kPipeReader = "System.IO.Pipelines.Pipe.DefaultPipeReader";
inline constexpr NameStart kPipeWriter = "System.IO.Pipelines.Pipe.DefaultPipeWriter";
inline constexpr NameStart kTimerTicks = "System.Threading.PeriodicTimer.State";

/// Objects that readers and writers of a channel await.
inline constexpr NameStart kBlockedRead = "System.Threading.Channels.BlockedRead";    // [10-11]
inline constexpr NameStart kWaitingRead = "System.Threading.Channels.WaitingRead";    // [10-11]
inline constexpr NameStart kBlockedWrite = "System.Threading.Channels.BlockedWrite";  // [10-11]
inline constexpr NameStart kWaitingWrite = "System.Threading.Channels.WaitingWrite";  // [10-11]

}  // namespace mixstack::dotnet::bcl
