// Which async method's task a thread waits for, without what it awaits or who awaits it.
#pragma once

#include <string>

#include "dotnet/async/state_machines.h"
#include "mixstack/waits.h"

namespace mixstack::dotnet::objects {

/// For one reading of a process. Not thread-safe. Borrows everything.
class TaskMethods {
 public:
  TaskMethods(ManagedObjects& objects, CodeManager& code, names::MethodNames& names)
      : delegates_(objects, code, names), machines_(objects, delegates_) {}

  /// C# name of the outermost method behind the task; empty: it is no async method's, or no task, or cannot be told.
  [[nodiscard]] std::string of(const ThreadWait& wait);

 private:
  Delegates delegates_;
  StateMachines machines_;
};

}  // namespace mixstack::dotnet::objects
