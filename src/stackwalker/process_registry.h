// What the manual's static functions share: the debugger behind ProcDebug, and which ProcessState stands for a process.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "stackwalker/procstate.h"
#include "target/debug/debug_session.h"

namespace Dyninst::Stackwalker {

/// Thread-safe. Made when first used, so that a program that only links the library starts nothing.
class ProcessRegistry {
 public:
  [[nodiscard]] static ProcessRegistry& get();

  void add(PID pid, ProcessState* state);
  void remove(const ProcessState* state);
  [[nodiscard]] ProcessState* find(PID pid);

  /// The one debugger of this host; a new one in a forked child. Null with the error set.
  [[nodiscard]] mixstack::target::DebugSession* debugger();
  /// The same, but only if it is there.
  [[nodiscard]] mixstack::target::DebugSession* present_debugger();

 private:
  struct Entry {
    PID pid = 0;
    ProcessState* state = nullptr;
  };
  void tell_walkers(const mixstack::target::DebugEvent& event);
  std::recursive_mutex telling_;  ///< taken before the other: a Walker that is being told is not destroyed meanwhile
  std::mutex mutex_;
  std::vector<Entry> states_;
  std::unique_ptr<mixstack::target::DebugSession> debugger_;
  PID owner_ = 0;  ///< the process the debugger was made in
};

}  // namespace Dyninst::Stackwalker
