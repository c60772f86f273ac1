// Internals that the API's classes hide from their users and share with each other.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frontends/stackwalker/engine.h"
#include "stackwalker/frame.h"
#include "stackwalker/framestepper.h"
#include "stackwalker/procstate.h"
#include "stackwalker/steppergroup.h"
#include "stackwalker/swk_errors.h"
#include "stackwalker/symlookup.h"
#include "stackwalker/walker.h"

namespace Dyninst::SymtabAPI {
class SymtabStore;
}

namespace Dyninst::Stackwalker {

using mixstack::stackwalker::Engine;
using mixstack::stackwalker::FramePlace;

struct FoundFrames;

/// The origin of a Frame that a walk made.
struct FrameOrigin {
  FramePlace place;
  FrameStepper* stepper = nullptr;
  THR_ID thread = NULL_THR_ID;
  const FoundFrames* found = nullptr;  ///< the walk that it belongs to
};

/// The result of a walk or a step, shared by its Frames: from each of them the same walk can be repeated.
struct FoundFrames {
  std::weak_ptr<Engine> engine;
  std::uint64_t capture_id = 0;
  std::vector<FrameOrigin> frames;  ///< innermost first
  bool is_walk = false;             ///< to its end; `error` is err_stackbottom, or the reason why the stack is cut
  err_t error = 0;
  std::string error_text;
  std::set<FrameStepper*> steppers;                          ///< of the group at that time
  std::shared_ptr<const mixstack::VectorRegisters> vectors;  ///< of the thread's innermost frame; null: not known
};

/// The default steppers of a Walker.
struct DefaultSteppers {
  explicit DefaultSteppers(Walker* w) : bottom(w), signal(w), debug(w), frame(w), analysis(w), wanderer(w) {}
  BottomOfStackStepper bottom;
  SigHandlerStepper signal;
  DebugStepper debug;
  FrameFuncStepper frame;
  AnalysisStepper analysis;
  StepperWanderer wanderer;
  [[nodiscard]] std::vector<FrameStepper*> all() { return {&bottom, &signal, &debug, &frame, &analysis, &wanderer}; }
};

/// Members in order of construction: each may borrow from those before it.
struct Walker::Parts {
  std::shared_ptr<const void> life = std::make_shared<char>();  ///< expires with the Walker: frames check it
  std::unique_ptr<ProcessState> proc;
  std::shared_ptr<SymtabAPI::SymtabStore> symtabs;
  std::unique_ptr<StepperGroup> group;
  std::unique_ptr<SymbolLookup> lookup;
  std::unique_ptr<DefaultSteppers> defaults;             ///< null: the user wanted none
  bool own_group = false;                                ///< made by us
  SymbolReaderFactory* symbol_reader = nullptr;          ///< a user's, as set when the Walker was made
  std::optional<std::pair<Address, Address>> looked_up;  ///< RA of the frame being named, and the address of its call
  std::map<Address, std::string> libraries;              ///< known to the group, by load address
  std::mutex libraries_mutex;
  unsigned depth = 0;               ///< of nested walks
  std::uint64_t scope_capture = 0;  ///< the capture of the outermost walk
};

class WalkerAccess {
 public:
  [[nodiscard]] static Walker::Parts& parts(const Walker& walker) { return *walker.parts_; }
  [[nodiscard]] static Walker* make(std::unique_ptr<ProcessState> proc, std::unique_ptr<StepperGroup> group,
                                    std::unique_ptr<SymbolLookup> lookup, bool default_steppers);
  static void adopt(FrameStepper& stepper, Walker* walker);
  static void adopt(SymbolLookup& lookup, Walker* walker) { lookup.walker = walker; }
  static void adopt(StepperGroup& group, Walker* walker) { group.walker = walker; }
  static void adopt(ProcessState& proc, Walker* walker) { proc.walker = walker; }

  /// The engine over a process, opened at first use, and again after an exec. Null with the error set.
  [[nodiscard]] static std::shared_ptr<Engine> engine(ProcessState* proc);
  [[nodiscard]] static std::shared_ptr<Engine> engine(const Walker* walker);
  /// The open engine, or null.
  [[nodiscard]] static std::shared_ptr<Engine> open_engine(const ProcessState& proc) { return proc.engine_; }
  static void forget_engine(ProcessState& proc) { proc.engine_.reset(); }
  /// Captures a thread and tells the group which libraries were loaded or unloaded. Null with the error set.
  [[nodiscard]] static std::shared_ptr<Engine> capture(Walker& walker, THR_ID thread);
  /// The default thread for NULL_THR_ID; NULL_THR_ID with the error set when there is none.
  [[nodiscard]] static THR_ID actual_thread(Walker& walker, THR_ID thread);

  [[nodiscard]] static Dyninst::ProcControlAPI::Process::ptr make_process(
      std::shared_ptr<mixstack::process::DebuggedProcess> process);
  [[nodiscard]] static const std::shared_ptr<mixstack::process::DebuggedProcess>& debugged(
      const Dyninst::ProcControlAPI::Process& process) {
    return process.process_;
  }
  [[nodiscard]] static std::shared_ptr<SymtabAPI::SymtabStore> symtabs(const Walker* walker);
};

class FrameAccess {
 public:
  /// One of the frames found.
  [[nodiscard]] static Frame make(Walker* walker, const std::shared_ptr<const FoundFrames>& found, std::size_t index);
  /// A frame found alone.
  [[nodiscard]] static Frame make(Walker* walker, const std::shared_ptr<Engine>& engine, const FramePlace& place,
                                  THR_ID tid, FrameStepper* stepper);
  static void mark_top(Frame& frame) { frame.flags_ |= Frame::kTop; }
  static void mark_bottom(Frame& frame) { frame.flags_ |= Frame::kBottom; }
  static void set_stepper(Frame& frame, FrameStepper* stepper) { frame.stepper_ = stepper; }
  static void adopt(Frame& frame, Walker* walker);
  /// Whether the walker still exists.
  [[nodiscard]] static bool is_alive(const Frame& frame) { return !frame.walker_life_.expired(); }
  /// The address to look up: inside the call for return addresses.
  [[nodiscard]] static Address lookup_address(const Frame& frame);
  /// The frame in the engine's terms, over a capture of its thread: its own capture if that is still held, else a new
  /// one. Nothing, with the error set, for frames of another Walker and threads that have ended. `follows_fp`: for a
  /// frame made by hand, use its FP as the frame pointer register even if it is only the frame's beginning.
  [[nodiscard]] static std::optional<FramePlace> place(Walker& walker, const Frame& frame, bool follows_fp = false);
  /// The frame's origin, without a capture; null: made by hand.
  [[nodiscard]] static std::shared_ptr<const FrameOrigin> origin(const Frame& frame) { return frame.origin_; }
  /// Whether the frame is still as the walk found it: the user has not changed it.
  [[nodiscard]] static bool is_as_found(const Frame& frame);
};

[[nodiscard]] mixstack::Arch engine_arch(Architecture arch);
[[nodiscard]] Architecture public_arch(mixstack::Arch arch);
[[nodiscard]] MachRegister public_register(mixstack::Arch arch, unsigned dwarf_number);
/// The DWARF number, or nothing for registers of another CPU.
[[nodiscard]] std::optional<unsigned> engine_register(mixstack::Arch arch, MachRegister reg);
[[nodiscard]] location_t public_location(mixstack::Arch arch, const mixstack::stackwalker::Location& location);
[[nodiscard]] mixstack::stackwalker::Location engine_location(mixstack::Arch arch, const location_t& location);
/// Nothing if it cannot be a thread id on this system.
[[nodiscard]] std::optional<mixstack::ThreadId> engine_thread(THR_ID thread);

}  // namespace Dyninst::Stackwalker
