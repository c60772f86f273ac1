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

/// Access of a Walker to the target. Users may derive their own: its answers are checked like any foreign data, and an
/// exception counts as failure. Functions that return false set the error (swk_errors.h). One thread at a time.
class ProcessState {
 public:
  virtual ~ProcessState();
  ProcessState(const ProcessState&) = delete;
  ProcessState& operator=(const ProcessState&) = delete;

  /// The newest living object for this process, or null. Thread-safe.
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

  /// Called before and after the target is read for a walk; the thread must stay stopped in between.
  virtual bool preStackwalk(Dyninst::THR_ID tid);
  virtual bool postStackwalk(Dyninst::THR_ID tid);
  virtual bool isFirstParty();

  /// The libraries of the process, owned by this object and created at first use. Null: there is no source for them.
  virtual LibraryState* getLibraryTracker();
  void setDefaultLibraryTracker();

 protected:
  explicit ProcessState(Dyninst::PID pid = 0, std::string executable_path = std::string());
  /// Registers the object for `getProcessStateByPid`.
  void setPid(Dyninst::PID pid);
  /// The process as the engine sees it. By default wraps the virtual functions above: users' classes need not override
  /// it.
  virtual std::unique_ptr<mixstack::Target> openTarget();

  LibraryState* library_tracker = nullptr;  ///< owned
  Walker* walker = nullptr;
  std::string executable_path;

 private:
  friend class WalkerAccess;
  Dyninst::PID pid_ = 0;
  std::shared_ptr<mixstack::stackwalker::Engine> engine_;
};

/// First party: our own process, of which the calling thread is walked. Installs and patches nothing.
class ProcSelf : public ProcessState {
 public:
  explicit ProcSelf(std::string exe_path = std::string());
  ~ProcSelf() override;
  /// Does nothing; Dyninst patches the dynamic linker here.
  void initialize();
  /// Registers of the calling thread, as they are in the function that calls this.
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

/// Third party: a debugged process. It runs unless paused; a walk stops a thread while its stack is copied. The caller
/// owns the objects that the static functions return; null or false with the error set on failure. Destroying the
/// object detaches, unless the process has other owners.
class ProcDebug : public ProcessState {
 public:
  static ProcDebug* newProcDebug(Dyninst::PID pid, std::string executable = std::string());
  static ProcDebug* newProcDebug(Dyninst::ProcControlAPI::Process::ptr proc);
  /// Starts the program, stopped before its first instruction outside of the dynamic linker.
  static ProcDebug* newProcDebug(std::string executable, const std::vector<std::string>& argv);
  /// Makes an object for all processes, or for none.
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

  /// Stops one thread, or all threads.
  virtual bool pause(Dyninst::THR_ID tid = NULL_THR_ID);
  virtual bool resume(Dyninst::THR_ID tid = NULL_THR_ID);
  /// Whether the process has ended.
  virtual bool isTerminated();
  /// Lets the process continue, or leaves it in a job-control stop. After it only isTerminated works.
  virtual bool detach(bool leave_stopped = false);
  [[nodiscard]] Dyninst::ProcControlAPI::Process::ptr getProc();

  /// A file descriptor for select, poll or epoll that holds one byte while debug events are waiting. A caller that
  /// reads the byte must then handle the events. -1, with err_proccontrol, if the debugger cannot be started. Do not
  /// close it.
  static int getNotificationFD();
  /// Handles all waiting events, and tells steppers of libraries among them. `block`: waits for the first event. False:
  /// there was none, or nothing is debugged.
  static bool handleDebugEvent(bool block = false);

 protected:
  explicit ProcDebug(Dyninst::ProcControlAPI::Process::ptr proc);
  std::unique_ptr<mixstack::Target> openTarget() override;

 private:
  struct Stop;
  Dyninst::ProcControlAPI::Process::ptr proc_;
  std::vector<Stop> stops_;
};

/// Path of a library and its load address: the difference between addresses in the process and in the file.
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
  /// Where other debuggers plant a trap to learn of changes. Not used by us.
  virtual Address getLibTrapAddress() = 0;
  virtual bool getLibc(LibAddrPair& lc);
  virtual bool getLibthread(LibAddrPair& lt);
  virtual bool getAOut(LibAddrPair& ao) = 0;

 protected:
  ProcessState* procstate;
};

}  // namespace Dyninst::Stackwalker
