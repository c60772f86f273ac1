// The engine: from captured registers and stack bytes to a Trace. Knows no runtime and no names.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "mixstack/frame.h"
#include "walk/stepper.h"

namespace mixstack::walk {

class WalkInProgress;

struct WalkLimits {
  std::uint32_t max_frames = 65536;
  bool explicit_frames = false;  ///< merge the checkpoints into the trace as runtime_frame entries
  bool keep_registers = false;
  bool explain = false;
};

/// Walks threads with a chain of steppers, asked in order. `owners` claim frames by their pc; `fallbacks` are asked
/// when the owner cannot find the caller. Borrows the steppers. One walker per OS thread (steppers keep caches).
class Walker {
 public:
  Walker(std::vector<FrameStepper*> owners, std::vector<FrameStepper*> fallbacks, WalkLimits limits)
      : owners_(std::move(owners)), fallbacks_(std::move(fallbacks)), limits_(limits) {}

  /// Never fails: whatever goes wrong is the trace's stop reason.
  [[nodiscard]] Trace walk(const ThreadInput& thread) const;
  /// The same frame by frame, explicit Frames left out. `thread` and this walker are borrowed by the answer.
  [[nodiscard]] std::unique_ptr<WalkInProgress> begin(const ThreadInput& thread) const;
  /// The innermost frame of a thread.
  [[nodiscard]] Cursor initial(const ThreadInput& thread) const;
  /// One step by the chain of steppers alone; the caller is checked as in a walk, no checkpoint is heard.
  [[nodiscard]] StepOutcome step(Cursor& cursor, const ThreadInput& thread) const;

 private:
  std::vector<FrameStepper*> owners_;
  std::vector<FrameStepper*> fallbacks_;
  WalkLimits limits_;
};

}  // namespace mixstack::walk
