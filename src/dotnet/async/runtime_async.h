// Async methods without a state machine, which the runtime itself suspends (runtime-async: a preview of .NET 10, the
// usual case in .NET 11).
#pragma once

#include <unordered_map>
#include <vector>

#include "dotnet/async/continuations.h"
#include "dotnet/async/resume_stubs.h"

namespace mixstack::dotnet::objects {

/// A method that is suspended, as the object says that the runtime made of it.
struct SuspendedMethod {
  /// Where it goes on: of .NET 10 a stub, of .NET 11 an address in its own code. See `RuntimeAsync::method_of`.
  Address resume = 0;
  std::int32_t state = -1;   ///< the await that it is suspended at, from 0 in the order of its code
  Address continuation = 0;  ///< the object
};

/// A thread that runs the methods of a task, as .NET 11 tells.
struct RunningTask {
  std::uint64_t thread = 0;
  Address next = 0;    ///< the continuation of who has called the running method; 0: nobody
  std::string method;  ///< that runs; empty: it cannot be told
};

/// Reads the tasks that callers of such methods get (AsyncHelpers.ThunkTask, of .NET 11 RuntimeAsyncTask). Methods that
/// call each other share one: behind it stands an object for each (Continuation), the innermost first, and each names
/// the one that goes on when it has ended. While methods run, those are there that were suspended last, or none; of
/// .NET 11 those that `set_running` has told. Not thread-safe. Borrows everything.
class RuntimeAsync {
 public:
  static constexpr std::size_t kMostMethods = 64;  ///< of one task
  static constexpr std::size_t kMostHeld = 64;     ///< objects that one method holds

  RuntimeAsync(ManagedObjects& objects, Delegates& delegates)
      : objects_(objects), delegates_(delegates), stubs_(objects, delegates), continuations_(objects, delegates) {}

  /// Whether objects of a type are such tasks.
  [[nodiscard]] bool is_type(Address type);
  /// Whether it is such a task: its type says so, and what it has called when it may go on is its own.
  [[nodiscard]] bool is_task(Address object);
  /// The continuation that goes on first, or has gone on; 0: the task's methods run, or have ended.
  [[nodiscard]] Address innermost(Address task);

  struct Methods {
    std::vector<SuspendedMethod> methods;  ///< outermost first; those of the source alone
    bool is_cut = false;                   ///< too many, a cycle, or something else among them
  };
  [[nodiscard]] Methods methods_of(Address task);
  /// Those from one of them outwards.
  [[nodiscard]] Methods methods_from(Address continuation);
  [[nodiscard]] const std::string& method_of(const SuspendedMethod& m);

  /// Whether methods of a task that has continuations are none that run (.NET 11).
  [[nodiscard]] bool tells_what_runs() const { return by_info(); }
  void set_running(Address task, RunningTask running) { running_[task] = std::move(running); }
  /// Null: no thread runs it, or that is not told.
  [[nodiscard]] const RunningTask* running(Address task) const;

  /// Objects that the innermost method keeps for when it goes on, what it awaits among them.
  [[nodiscard]] std::vector<Address> held_by(Address task);
  /// Whether the innermost is the runtime's own, which keeps nothing but what it awaits.
  [[nodiscard]] bool only_awaits(Address task);
  /// The object that the innermost awaits, from its continuation (.NET 11); 0: not recorded there.
  [[nodiscard]] Address awaited_by(Address task);
  /// The task that goes on by an object that tasks call when they have ended (.NET 11); 0: it is no such object.
  [[nodiscard]] Address task_of(Address continuation) {
    return by_info() ? continuations_.task_of_head(continuation) : 0;
  }

  [[nodiscard]] Continuations& continuations() { return continuations_; }

 private:
  [[nodiscard]] bool by_info() const {
    return objects_.memory().layouts().algorithms.suspended_methods == SuspendedMethods::resume_info;
  }
  /// The method of a continuation; nothing: it cannot be told.
  struct Read {
    SuspendedMethod method;
    Address next = 0;
    bool is_last = false;     ///< nothing stands behind it
    bool is_shown = false;    ///< it is of the source
    bool is_unknown = false;  ///< which method it is cannot be told
  };
  [[nodiscard]] std::optional<Read> read(Address continuation);
  [[nodiscard]] std::optional<Read> read_by_info(Address continuation);
  [[nodiscard]] bool is_continuation(Address object);
  [[nodiscard]] Address resume_of(Address continuation);

  ManagedObjects& objects_;
  Delegates& delegates_;
  ResumeStubs stubs_;
  Continuations continuations_;
  std::unordered_map<Address, RunningTask> running_;
  std::unordered_map<Address, bool> types_;
};

}  // namespace mixstack::dotnet::objects
