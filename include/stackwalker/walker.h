// Walking call stacks (manual, class Walker), and sets of walkers (the original's walker.h).
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

/// Walks the threads of one process. Functions that answer false or null set the error of the calling thread
/// (swk_errors.h). A Walker owns its ProcessState, StepperGroup and SymbolLookup, also those it was given, and frees
/// them; steppers that were added stay the caller's and must outlive it. One thread at a time; different Walkers run in
/// parallel.
class Walker {
 public:
  static void version(int& major, int& minor, int& maintenance);

  /// First party: this process.
  static Walker* newWalker();
  static Walker* newWalker(std::string executable);
  /// Third party: attaches, without stopping the process.
  static Walker* newWalker(Dyninst::PID pid);
  static Walker* newWalker(Dyninst::PID pid, std::string executable);
  static Walker* newWalker(Dyninst::ProcControlAPI::Process::ptr proc);
  /// Starts the program, stopped: ProcDebug::resume lets it run.
  static Walker* newWalker(std::string executable, const std::vector<std::string>& argv);
  /// What is null is the default. On failure the objects stay the caller's. `default_steppers`: adds the default
  /// steppers to the group.
  static Walker* newWalker(ProcessState* proc, StepperGroup* steppergroup = nullptr, SymbolLookup* lookup = nullptr,
                           bool default_steppers = true);
  /// All or none.
  static bool newWalker(const std::vector<Dyninst::PID>& pids, std::vector<Walker*>& walkers_out);
  static bool newWalker(const std::vector<Dyninst::PID>& pids, std::vector<Walker*>& walkers_out,
                        std::string executable);
  virtual ~Walker();
  Walker(const Walker&) = delete;
  Walker& operator=(const Walker&) = delete;

  /// True when the bottom of the stack was reached. A stack that is cut answers false with the frames there are, and
  /// getLastError says why. First party: index 0 is the function that calls this.
  bool walkStack(std::vector<Frame>& stackwalk, Dyninst::THR_ID thread = NULL_THR_ID);
  bool walkStackFromFrame(std::vector<Frame>& stackwalk, const Frame& frame);
  /// The next frame of the walk that found `in`, or a step from there if nothing did. False with err_stackbottom when
  /// `in` has no caller.
  bool walkSingleFrame(const Frame& in, Frame& out);
  bool getInitialFrame(Frame& frame, Dyninst::THR_ID thread = NULL_THR_ID);
  bool getAvailableThreads(std::vector<Dyninst::THR_ID>& threads) const;

  [[nodiscard]] ProcessState* getProcessState() const;
  [[nodiscard]] StepperGroup* getStepperGroup() const;
  [[nodiscard]] SymbolLookup* getSymbolLookup() const;
  bool addStepper(FrameStepper* stepper);

  /// For Walkers that are made from now on: their default lookup names native functions by the factory's readers. Those
  /// that are there keep theirs, which must outlive them. Users' factories stay theirs; null brings the default back.
  static SymbolReaderFactory* getSymbolReader();
  static void setSymbolReader(SymbolReaderFactory* factory);

  struct Parts;  ///< of the implementation

 private:
  friend class WalkerAccess;
  explicit Walker(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// Walkers of several processes.
class WalkerSet {
 public:
  static WalkerSet* newWalkerSet();
  /// The Walkers stay the caller's.
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

  /// Walks all threads (or the initial ones) of all processes, as many processes at once as there are CPUs. True when
  /// every stack is whole.
  bool walkStacks(CallTree& tree, bool walk_initial_only = false) const;

 private:
  WalkerSet();
  std::set<Walker*> walkers_;
};

}  // namespace Dyninst::Stackwalker
