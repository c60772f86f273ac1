// Threads that were just born: stopped between the clone system call and the code that has CFI.
#pragma once

#include "walk_core/stepper.h"

namespace mixstack::walk {

/// A fallback for interrupted native frames without unwind information. When the code there is the child's way out of a
/// clone system call, and the place it branches to is an outermost frame by CFI, then so is this one.
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

}  // namespace mixstack::walk
