// The engine: makes a Trace of captured registers and stack bytes. Knows no runtime and no names.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/walk_core/stepper.h"
#include "mixstack/frame.h"

namespace mixstack::walk {

class Advisor;
class WalkInProgress;

/// The chain of a walk, asked in order. Borrows the steppers.
struct Steppers {
  std::vector<FrameStepper*> owners;     ///< claim frames by their pc
  std::vector<FrameStepper*> fallbacks;  ///< asked when the owner cannot find the caller
  std::vector<FrameStepper*> users;      ///< those of the owners that may claim a frame without knowing its caller
};

/// Walks threads with a chain of steppers. One walker per OS thread (steppers keep caches).
class ChainWalker {
 public:
  ChainWalker(Steppers steppers, WalkOptions limits) : steppers_(std::move(steppers)), limits_(limits) {}

  /// Never fails: a failure is the trace's stop reason.
  [[nodiscard]] Trace walk(const ThreadInput& thread, Advisor* advisor = nullptr) const;
  /// The same frame by frame, without explicit Frames. The result borrows `thread` and this walker.
  [[nodiscard]] std::unique_ptr<WalkInProgress> begin(const ThreadInput& thread) const;
  /// The innermost frame of a thread.
  [[nodiscard]] Cursor initial(const ThreadInput& thread) const;
  /// One step by the chain of steppers alone; the caller is checked as in a walk, but no checkpoint is asked.
  [[nodiscard]] StepOutcome step(Cursor& cursor, const ThreadInput& thread, Advisor* advisor = nullptr) const;
  /// The same by one stepper alone, which need not be in the chain. `not_mine` if it says so.
  [[nodiscard]] StepOutcome step_by(FrameStepper& only, Cursor& cursor, const ThreadInput& thread) const;

 private:
  Steppers steppers_;
  WalkOptions limits_;
};

}  // namespace mixstack::walk
