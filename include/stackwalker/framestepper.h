// Walks through one kind of stack frame (manual, class FrameStepper); the default steppers.
#pragma once

#include <utility>

#include "basetypes.h"
#include "procstate.h"

namespace Dyninst::Stackwalker {

class Walker;
class Frame;
class StepperGroup;
class WalkerAccess;

typedef enum { gcf_success, gcf_stackbottom, gcf_not_me, gcf_error } gcframe_ret_t;

/// Finds the caller of a frame. Users may derive their own. A stepper that answers gcf_not_me has no effect. A
/// gcf_success is accepted if RA, SP and FP are set and RA is code: executable memory, or a range (not the whole
/// address space) for which a user's stepper is registered. The caller's stack may lie anywhere (a coroutine's resumer
/// may be below it): a walk goes back to equal or lower stack pointers at most 1,024 times. An exception counts as
/// gcf_error. The caller owns the stepper, which must outlive its Walker.
class FrameStepper {
 public:
  explicit FrameStepper(Walker* w);
  virtual ~FrameStepper();
  FrameStepper(const FrameStepper&) = delete;
  FrameStepper& operator=(const FrameStepper&) = delete;

  /// Sets at least RA, SP and FP of `out` if it answers gcf_success.
  virtual gcframe_ret_t getCallerFrame(const Frame& in, Frame& out) = 0;
  /// Lower numbers are asked first.
  virtual unsigned getPriority() const = 0;
  virtual const char* getName() const = 0;

  virtual ProcessState* getProcessState();
  virtual Walker* getWalker();
  virtual void newLibraryNotification(LibAddrPair* libaddr, lib_change_t change);
  /// By default adds the stepper to the group for all addresses, unless the group has it already.
  virtual void registerStepperGroup(StepperGroup* steppergroup);

  // The manual requires values between 0x1000 and 0x2000.
  static constexpr unsigned stackbottom_priority = 0x1000;
  static constexpr unsigned sighandler_priority = 0x1200;
  static constexpr unsigned debugstepper_priority = 0x1400;
  static constexpr unsigned analysis_priority = 0x1600;
  static constexpr unsigned frame_priority = 0x1a00;  ///< after analysis, which is surer than a frame pointer
  static constexpr unsigned wanderer_priority = 0x2000;

 protected:
  Walker* walker;

 private:
  friend class WalkerAccess;
};

/// Describes a function's frame: how it is set up, and how far that is at an address.
class FrameFuncHelper {
 public:
  typedef enum { unknown_t = 0, no_frame, standard_frame, savefp_only_frame } frame_type;
  typedef enum { unknown_s = 0, unset_frame, halfset_frame, set_frame } frame_state;
  typedef std::pair<frame_type, frame_state> alloc_frame_t;
  explicit FrameFuncHelper(ProcessState* proc) : proc_(proc) {}
  virtual ~FrameFuncHelper() = default;
  virtual alloc_frame_t allocatesFrame(Address addr) = 0;

 protected:
  ProcessState* proc_;
};

/// Checks return addresses that were found by scanning the stack.
class WandererHelper {
 public:
  typedef enum { unknown_s = 0, in_func, outside_func } pc_state;
  explicit WandererHelper(ProcessState* proc) : proc_(proc) {}
  virtual ~WandererHelper() = default;
  /// Whether a call ends at `addr`; `target` is 0 for indirect calls.
  virtual bool isPrevInstrACall(Address addr, Address& target);
  virtual pc_state isPCInFunc(Address func_entry, Address pc);
  /// True: only direct calls of the function itself are accepted.
  virtual bool requireExactMatch();

 protected:
  ProcessState* proc_;
};

/// Steps through functions that keep a frame pointer.
class FrameFuncStepper : public FrameStepper {
 public:
  /// A helper, if any, is asked first. The caller owns it.
  explicit FrameFuncStepper(Walker* w, FrameFuncHelper* helper = nullptr) : FrameStepper(w), helper_(helper) {}
  gcframe_ret_t getCallerFrame(const Frame& in, Frame& out) override;
  unsigned getPriority() const override { return frame_priority; }
  const char* getName() const override { return "FrameFuncStepper"; }

 private:
  FrameFuncHelper* helper_;
};

/// Steps through functions with unwind information: call frame information of native code, the runtime's unwind codes
/// of managed code.
class DebugStepper : public FrameStepper {
 public:
  explicit DebugStepper(Walker* w) : FrameStepper(w) {}
  gcframe_ret_t getCallerFrame(const Frame& in, Frame& out) override;
  unsigned getPriority() const override { return debugstepper_priority; }
  const char* getName() const override { return "DebugStepper"; }
};

/// Scans the stack for a return address: the last resort, and may be wrong.
class StepperWanderer : public FrameStepper {
 public:
  /// The caller owns the helpers, if any.
  explicit StepperWanderer(Walker* w, WandererHelper* whelper = nullptr, FrameFuncHelper* fhelper = nullptr)
      : FrameStepper(w), wanderer_(whelper), function_(fhelper) {}
  gcframe_ret_t getCallerFrame(const Frame& in, Frame& out) override;
  unsigned getPriority() const override { return wanderer_priority; }
  const char* getName() const override { return "StepperWanderer"; }

 private:
  WandererHelper* wanderer_;
  FrameFuncHelper* function_;
};

/// Steps from the code that a signal handler returns to, to the code that the signal interrupted.
class SigHandlerStepper : public FrameStepper {
 public:
  explicit SigHandlerStepper(Walker* w) : FrameStepper(w) {}
  gcframe_ret_t getCallerFrame(const Frame& in, Frame& out) override;
  unsigned getPriority() const override { return sighandler_priority; }
  const char* getName() const override { return "SigHandlerStepper"; }
};

/// Recognises outermost frames: entry points of programs and first functions of threads.
class BottomOfStackStepper : public FrameStepper {
 public:
  explicit BottomOfStackStepper(Walker* w) : FrameStepper(w) {}
  gcframe_ret_t getCallerFrame(const Frame& in, Frame& out) override;
  unsigned getPriority() const override { return stackbottom_priority; }
  const char* getName() const override { return "BottomOfStackStepper"; }
};

/// Steps through functions without unwind information, by decoding their machine code from the entry on.
class AnalysisStepper : public FrameStepper {
 public:
  explicit AnalysisStepper(Walker* w) : FrameStepper(w) {}
  gcframe_ret_t getCallerFrame(const Frame& in, Frame& out) override;
  unsigned getPriority() const override { return analysis_priority; }
  const char* getName() const override { return "AnalysisStepper"; }
};

}  // namespace Dyninst::Stackwalker
