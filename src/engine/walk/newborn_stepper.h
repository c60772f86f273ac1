// New threads: stopped between the clone system call and code that has CFI.
#pragma once

#include "engine/walk_core/stepper.h"

namespace mixstack::walk {

/// A fallback for interrupted native frames without unwind information. If the code is the child's path out of a clone
/// system call, and its branch target is an outermost frame by CFI, then so is this frame.
class NewbornStepper final : public FrameStepper {
 public:
  /// `native` judges the branch target. Borrows both.
  NewbornStepper(const MemoryReader& code, FrameStepper& native) : code_(code), native_(native) {}

  [[nodiscard]] std::string_view name() const override { return "newborn thread"; }
  [[nodiscard]] bool claim(Frame&) override { return false; }
  [[nodiscard]] StepOutcome step(Cursor& cursor, const ThreadInput& thread) override;

 private:
  const MemoryReader& code_;
  FrameStepper& native_;
};

/// Native code by its CFI, except for new threads where the CFI is the parent's: glibc's clone on AArch64 has one FDE
/// for both, by which the child, on its new stack, would continue in its creator. Borrows both.
class NativeOrNewbornStepper final : public FrameStepper {
 public:
  NativeOrNewbornStepper(FrameStepper& native, FrameStepper& newborn) : native_(native), newborn_(newborn) {}

  [[nodiscard]] std::string_view name() const override { return native_.name(); }
  [[nodiscard]] bool claim(Frame& frame) override { return native_.claim(frame); }
  [[nodiscard]] StepOutcome step(Cursor& cursor, const ThreadInput& thread) override;

 private:
  FrameStepper& native_;
  FrameStepper& newborn_;
};

}  // namespace mixstack::walk
