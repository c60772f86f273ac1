// Walks call stacks (manual, class Walker); sets of walkers (Dyninst's walker.h).
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "PCProcess.h"
#include "basetypes.h"

namespace Dyninst::Stackwalker {

class CallTree;
class Frame;
class FrameStepper;
class ProcDebug;
class ProcessState;
class StepperGroup;
class SymbolLookup;
class WalkerAccess;

/// Walks the threads of one process. Functions that return false or null set the error of the calling thread
/// (swk_errors.h). A Walker owns its ProcessState, StepperGroup and SymbolLookup, also those given to it, and frees
/// them; added steppers stay the caller's and must outlive it. The caller owns the Walkers that `newWalker` returns.
/// One thread at a time; different Walkers run in parallel. Not signal-safe.
class Walker {
 public:
  static void version(int& major, int& minor, int& maintenance);

  /// First party: this process.
  static Walker* newWalker();
  static Walker* newWalker(std::string executable);
  /// Third party: attaches, without leaving the process stopped.
  static Walker* newWalker(Dyninst::PID pid);
  static Walker* newWalker(Dyninst::PID pid, std::string executable);
  static Walker* newWalker(Dyninst::ProcControlAPI::Process::ptr proc);
  /// Starts the program, stopped; ProcDebug::resume lets it run.
  static Walker* newWalker(std::string executable, const std::vector<std::string>& argv);
  /// Null arguments stand for the defaults. On failure the objects stay the caller's. `default_steppers`: adds the
  /// default steppers to the group.
  static Walker* newWalker(ProcessState* proc, StepperGroup* steppergroup = nullptr, SymbolLookup* lookup = nullptr,
                           bool default_steppers = true);
  /// Makes a Walker for all processes, or for none.
  static bool newWalker(const std::vector<Dyninst::PID>& pids, std::vector<Walker*>& walkers_out);
  static bool newWalker(const std::vector<Dyninst::PID>& pids, std::vector<Walker*>& walkers_out,
                        std::string executable);
  virtual ~Walker();
  Walker(const Walker&) = delete;
  Walker& operator=(const Walker&) = delete;

  /// True: the bottom of the stack was reached. For a cut stack it returns false with the frames found, and
  /// getLastError gives the reason. First party: index 0 is the function that calls this.
  bool walkStack(std::vector<Frame>& stackwalk, Dyninst::THR_ID thread = NULL_THR_ID);
  bool walkStackFromFrame(std::vector<Frame>& stackwalk, const Frame& frame);
  /// The next frame of the walk that found `in`, or a step from there if no walk did. False, with err_stackbottom, if
  /// `in` has no caller.
  bool walkSingleFrame(const Frame& in, Frame& out);
  bool getInitialFrame(Frame& frame, Dyninst::THR_ID thread = NULL_THR_ID);
  bool getAvailableThreads(std::vector<Dyninst::THR_ID>& threads) const;

  [[nodiscard]] ProcessState* getProcessState() const;
  [[nodiscard]] StepperGroup* getStepperGroup() const;
  [[nodiscard]] SymbolLookup* getSymbolLookup() const;
  bool addStepper(FrameStepper* stepper);

  /// For Walkers made from now on: their default lookup names native functions by this factory's readers. Existing
  /// Walkers keep theirs, which must outlive them. The caller owns the factory; null restores the default.
  static SymbolReaderFactory* getSymbolReader();
  static void setSymbolReader(SymbolReaderFactory* factory);

  struct Parts;  ///< of the implementation

 private:
  friend class WalkerAccess;
  explicit Walker(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// Walkers of several processes. Not thread-safe.
class WalkerSet {
 public:
  static WalkerSet* newWalkerSet();
  /// Does not delete the Walkers.
  ~WalkerSet();
  WalkerSet(const WalkerSet&) = delete;
  WalkerSet& operator=(const WalkerSet&) = delete;

  typedef std::set<Walker*>::iterator iterator;
  typedef std::set<Walker*>::const_iterator const_iterator;
  iterator begin();
  iterator end();
  iterator find(Walker* walker);
  [[nodiscard]] const_iterator begin() const;
  [[nodiscard]] const_iterator end() const;
  [[nodiscard]] const_iterator find(Walker* walker) const;
  std::pair<iterator, bool> insert(Walker* walker);
  void erase(iterator at);
  [[nodiscard]] bool empty() const;
  [[nodiscard]] std::size_t size() const;

  /// Walks all threads (or the initial ones) of all processes, as many processes at once as there are CPUs. True: every
  /// stack is complete.
  bool walkStacks(CallTree& tree, bool walk_initial_only = false) const;

 private:
  WalkerSet();
  std::set<Walker*> walkers_;
};

}  // namespace Dyninst::Stackwalker
