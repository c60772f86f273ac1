// Borrowed from ProcControlAPI, the StackwalkerAPI's sister library, as far as a Walker needs it: a process that the
// caller debugs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dyntypes.h"

namespace mixstack::process {
class DebuggedProcess;
}
namespace Dyninst::Stackwalker {
class WalkerAccess;
}

namespace Dyninst::ProcControlAPI {

/// A process under our debugger, until `detach` or its end; destroying this object does not detach. Functions that
/// return false set Stackwalker::getLastError. One thread at a time; not signal-safe.
class Process {
 public:
  typedef std::shared_ptr<Process> ptr;
  typedef std::shared_ptr<const Process> const_ptr;

  /// Attaches to a running process and stops it, as a debugger does. `executable` may be empty. Null on failure, with
  /// the error set.
  static ptr attachProcess(Dyninst::PID pid, const std::string& executable = std::string());
  /// Starts a program, stopped before its first instruction outside of the dynamic linker. Null on failure, with the
  /// error set.
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
  explicit Process(std::shared_ptr<mixstack::process::DebuggedProcess> process);
  std::shared_ptr<mixstack::process::DebuggedProcess> process_;
};

}  // namespace Dyninst::ProcControlAPI
