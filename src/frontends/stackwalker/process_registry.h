// State shared by the manual's static functions: the debugger behind ProcDebug, and the ProcessState of each process.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "process/debugger/debug_session.h"
#include "stackwalker/procstate.h"

namespace Dyninst::Stackwalker {

/// Thread-safe. Created at first use: a program that only links the library starts nothing.
class ProcessRegistry {
 public:
  [[nodiscard]] static ProcessRegistry& get();

  void add(PID pid, ProcessState* state);
  void remove(const ProcessState* state);
  [[nodiscard]] ProcessState* find(PID pid);

  /// The one debugger of this process; a new one in a forked child. Null with the error set.
  [[nodiscard]] mixstack::process::DebugSession* debugger();
  /// The debugger if it exists, else null.
  [[nodiscard]] mixstack::process::DebugSession* present_debugger();

 private:
  struct Entry {
    PID pid = 0;
    ProcessState* state = nullptr;
  };
  void tell_walkers(const mixstack::process::DebugEvent& event);
  std::recursive_mutex telling_;  ///< locked before `mutex_`: a Walker is not destroyed while it is being told
  std::mutex mutex_;
  std::vector<Entry> states_;
  std::unique_ptr<mixstack::process::DebugSession> debugger_;
  PID owner_ = 0;  ///< the process in which the debugger was made
};

}  // namespace Dyninst::Stackwalker
