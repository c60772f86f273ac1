// Access to the target process (manual, classes ProcessState and LibraryState).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "Architecture.h"
#include "PCProcess.h"
#include "basetypes.h"

namespace mixstack {
class Target;
}
namespace mixstack::stackwalker {
class Engine;
}

namespace Dyninst::Stackwalker {

class LibraryState;
class Walker;
class WalkerAccess;

/// How a Walker reaches the target. Users may derive their own; what such a class answers is checked like any other
/// foreign data, and an exception that leaves it counts as failure.
class ProcessState {
 public:
  virtual ~ProcessState();
  ProcessState(const ProcessState&) = delete;
  ProcessState& operator=(const ProcessState&) = delete;

  /// The newest that is alive for this process, or null.
  static ProcessState* getProcessStateByPid(Dyninst::PID pid);

  virtual bool getRegValue(Dyninst::MachRegister reg, Dyninst::THR_ID thread, Dyninst::MachRegisterVal& val) = 0;
  virtual bool readMem(void* dest, Dyninst::Address source, std::size_t size) = 0;
  virtual bool getThreadIds(std::vector<Dyninst::THR_ID>& threads) = 0;
  virtual bool getDefaultThread(Dyninst::THR_ID& default_tid) = 0;
  virtual Dyninst::PID getProcessId();
  virtual unsigned getAddressWidth() = 0;
  virtual Dyninst::Architecture getArchitecture() = 0;

  [[nodiscard]] Walker* getWalker() const;
  [[nodiscard]] std::string getExecutablePath();

  /// Called before the target is read for a walk and after; the target must stand still between.
  virtual bool preStackwalk(Dyninst::THR_ID tid);
  virtual bool postStackwalk(Dyninst::THR_ID tid);
  virtual bool isFirstParty();

  /// The libraries of the process; made when first asked for. Null when there is nothing to learn them from.
  virtual LibraryState* getLibraryTracker();
  void setDefaultLibraryTracker();

 protected:
  explicit ProcessState(Dyninst::PID pid = 0, std::string executable_path = std::string());
  /// Makes the object known to `getProcessStateByPid`.
  void setPid(Dyninst::PID pid);
  /// The process as the engine sees it. Users' classes are wrapped; no need to override.
  virtual std::unique_ptr<mixstack::Target> openTarget();

  LibraryState* library_tracker = nullptr;  ///< owned
  Walker* walker = nullptr;
  std::string executable_path;

 private:
  friend class WalkerAccess;
  Dyninst::PID pid_ = 0;
  std::shared_ptr<mixstack::stackwalker::Engine> engine_;
};

/// First party: our own process, the calling thread. Installs nothing, patches nothing.
class ProcSelf : public ProcessState {
 public:
  explicit ProcSelf(std::string exe_path = std::string());
  ~ProcSelf() override;
  /// Nothing to do any more; the original patched the dynamic linker here.
  void initialize();
  /// Of the calling thread, as they are in the function that calls this.
  bool getRegValue(Dyninst::MachRegister reg, Dyninst::THR_ID thread, Dyninst::MachRegisterVal& val) override;
  bool readMem(void* dest, Dyninst::Address source, std::size_t size) override;
  bool getThreadIds(std::vector<Dyninst::THR_ID>& threads) override;
  bool getDefaultThread(Dyninst::THR_ID& default_tid) override;
  unsigned getAddressWidth() override;
  Dyninst::Architecture getArchitecture() override;
  bool isFirstParty() override;

 protected:
  std::unique_ptr<mixstack::Target> openTarget() override;
};

/// Third party: a process that is debugged. It runs unless it is paused; walks stop a thread for as long as it takes to
/// copy its stack. Destroying the object detaches.
class ProcDebug : public ProcessState {
 public:
  static ProcDebug* newProcDebug(Dyninst::PID pid, std::string executable = std::string());
  static ProcDebug* newProcDebug(Dyninst::ProcControlAPI::Process::ptr proc);
  /// Starts the program, which is stopped before its first instruction outside the dynamic linker.
  static ProcDebug* newProcDebug(std::string executable, const std::vector<std::string>& argv);
  /// All or none.
  static bool newProcDebugSet(const std::vector<Dyninst::PID>& pids, std::vector<ProcDebug*>& out_set);
  ~ProcDebug() override;

  bool getRegValue(Dyninst::MachRegister reg, Dyninst::THR_ID thread, Dyninst::MachRegisterVal& val) override;
  bool readMem(void* dest, Dyninst::Address source, std::size_t size) override;
  bool getThreadIds(std::vector<Dyninst::THR_ID>& threads) override;
  bool getDefaultThread(Dyninst::THR_ID& default_tid) override;
  unsigned getAddressWidth() override;
  Dyninst::Architecture getArchitecture() override;
  bool preStackwalk(Dyninst::THR_ID tid) override;
  bool postStackwalk(Dyninst::THR_ID tid) override;
  bool isFirstParty() override;

  /// Stops one thread, or all.
  virtual bool pause(Dyninst::THR_ID tid = NULL_THR_ID);
  virtual bool resume(Dyninst::THR_ID tid = NULL_THR_ID);
  /// The process ended.
  virtual bool isTerminated();
  /// Lets the process go on alone, or leaves it in a job-control stop. After it nothing works but isTerminated.
  virtual bool detach(bool leave_stopped = false);
  [[nodiscard]] Dyninst::ProcControlAPI::Process::ptr getProc();

  /// Holds one byte exactly while debug events wait to be handled; for select, poll, epoll. Who reads the byte handles
  /// the events next. -1 with err_proccontrol when the
  /// debugger cannot be started.
  static int getNotificationFD();
  /// Handles all events that wait, and tells steppers of libraries among them; with `block` waits for one. False when
  /// there was none (or nothing is debugged).
  static bool handleDebugEvent(bool block = false);

 protected:
  explicit ProcDebug(Dyninst::ProcControlAPI::Process::ptr proc);
  std::unique_ptr<mixstack::Target> openTarget() override;

 private:
  struct Stop;
  Dyninst::ProcControlAPI::Process::ptr proc_;
  std::vector<Stop> stops_;
};

/// Path of a library and its load address: what is added to an address of the file.
typedef std::pair<std::string, Address> LibAddrPair;
typedef enum { library_load, library_unload } lib_change_t;

/// The libraries loaded in a process.
class LibraryState {
 public:
  explicit LibraryState(ProcessState* parent);
  virtual ~LibraryState();
  LibraryState(const LibraryState&) = delete;
  LibraryState& operator=(const LibraryState&) = delete;

  virtual bool getLibraryAtAddr(Address addr, LibAddrPair& lib) = 0;
  virtual bool getLibraries(std::vector<LibAddrPair>& libs, bool allow_refresh = true) = 0;
  virtual void notifyOfUpdate() = 0;
  /// Where other debuggers plant a trap to learn of changes. Never used here.
  virtual Address getLibTrapAddress() = 0;
  virtual bool getLibc(LibAddrPair& lc);
  virtual bool getLibthread(LibAddrPair& lt);
  virtual bool getAOut(LibAddrPair& ao) = 0;

 protected:
  ProcessState* procstate;
};

}  // namespace Dyninst::Stackwalker
