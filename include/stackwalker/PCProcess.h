// Borrowed from the StackwalkerAPI's sister library ProcControlAPI, as far as a Walker needs it: a process that the
// caller debugs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dyntypes.h"

namespace mixstack::target {
class DebuggedProcess;
}
namespace Dyninst::Stackwalker {
class WalkerAccess;
}

namespace Dyninst::ProcControlAPI {

/// A process under our debugger. Failures are told by Stackwalker::getLastError.
class Process {
 public:
  typedef std::shared_ptr<Process> ptr;
  typedef std::shared_ptr<const Process> const_ptr;

  /// Attaches to a running process and stops it, as a debugger does. `executable` may be empty. Null on failure.
  static ptr attachProcess(Dyninst::PID pid, const std::string& executable = std::string());
  /// Starts a program, stopped before its first instruction outside the dynamic linker. Null on failure.
  static ptr createProcess(const std::string& executable, const std::vector<std::string>& argv);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] Dyninst::PID getPid() const;
  bool continueProc();
  bool stopProc();
  [[nodiscard]] bool isTerminated() const;
  [[nodiscard]] bool isRunning() const;
  bool detach(bool leave_stopped = false);
  bool terminate();

 private:
  friend class Dyninst::Stackwalker::WalkerAccess;
  explicit Process(std::shared_ptr<mixstack::target::DebuggedProcess> process);
  std::shared_ptr<mixstack::target::DebuggedProcess> process_;
};

}  // namespace Dyninst::ProcControlAPI
