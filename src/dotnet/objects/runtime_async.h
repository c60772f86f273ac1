// Async methods without a state machine, which the runtime itself suspends (runtime-async, a preview of .NET 10).
#pragma once

#include <unordered_map>
#include <vector>

#include "dotnet/objects/resume_stubs.h"

namespace mixstack::dotnet::objects {

/// A method that is suspended, as the object says that the runtime made of it.
struct SuspendedMethod {
  Address resume = 0;       ///< the stub that it goes on through: see `RuntimeAsync::method_of`
  std::int32_t state = -1;  ///< the await that it is suspended at, from 0 in the order of its code
};

/// Reads the tasks that callers of such methods get (AsyncHelpers.ThunkTask). Methods that call each other share one:
/// behind it stands an object for each (Continuation), the innermost first, and each names the one that goes on when it
/// has ended. While methods run, those are there that were suspended last, or none. Not thread-safe. Borrows
/// everything.
class RuntimeAsync {
 public:
  /// Type of those without a value, in the core library; derived or generic ones have others.
  static constexpr std::string_view kTask = "System.Runtime.CompilerServices.AsyncHelpers+ThunkTask";
  static constexpr std::size_t kMostMethods = 64;  ///< of one task
  static constexpr std::size_t kMostHeld = 64;     ///< objects that one method holds

  RuntimeAsync(ManagedObjects& objects, Delegates& delegates)
      : objects_(objects), delegates_(delegates), stubs_(objects, delegates) {}

  /// Whether objects of a type are such tasks.
  [[nodiscard]] bool is_type(Address type);
  /// Whether it is such a task: its type says so, and what it has called when it may go on is its own.
  [[nodiscard]] bool is_task(Address object);
  /// What goes on first, or has gone on; 0: the task's methods run, or have ended.
  [[nodiscard]] Address innermost(Address task);

  struct Methods {
    std::vector<SuspendedMethod> methods;  ///< outermost first; those of the source alone
    bool is_cut = false;                   ///< too many, a circle, or something else among them
  };
  [[nodiscard]] Methods methods_of(Address task);
  [[nodiscard]] const std::string& method_of(const SuspendedMethod& m) { return stubs_.method_at(m.resume).name; }

  /// Objects that the innermost method keeps for when it goes on, what it awaits among them.
  [[nodiscard]] std::vector<Address> held_by(Address task);
  /// Whether the innermost is the runtime's own, which keeps nothing but what it awaits.
  [[nodiscard]] bool only_awaits(Address task);

 private:
  [[nodiscard]] bool is_continuation(Address object);
  [[nodiscard]] Address resume_of(Address continuation);

  ManagedObjects& objects_;
  Delegates& delegates_;
  ResumeStubs stubs_;
  std::unordered_map<Address, bool> types_;
};

}  // namespace mixstack::dotnet::objects
