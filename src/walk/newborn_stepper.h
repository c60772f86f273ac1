// Threads that were just born: stopped between the clone system call and the code that has CFI.
#pragma once

#include "walk_core/stepper.h"

namespace mixstack::walk {

/// For interrupted native frames, as a fallback for those without unwind information. When the code there is the
/// child's way out of a clone system call, and the place it branches to is an outermost frame by CFI, then so is this
/// one.
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

/// Native code by its CFI, but for threads just born where the CFI is the parent's: glibc's clone on AArch64 has one
/// FDE for both, and by it the child, on its new stack, would go on in who made it. Borrows both.
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
