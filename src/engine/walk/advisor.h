// An extra participant of a walk beside the chain of steppers, which may also know code that no stepper claims.
#pragma once

#include <cstdint>

#include "engine/walk_core/stepper.h"

namespace mixstack::walk {

/// Unlike an owner it does not describe frames: an advisor that answers `not_mine` to everything changes nothing. Must
/// not throw.
class Advisor {
 public:
  /// When it is asked for a frame's caller.
  enum class Turn : std::uint8_t {
    first,   ///< before the frame's owner
    middle,  ///< between the owner and the fallbacks
    last,    ///< after all others
  };
  virtual ~Advisor() = default;
  /// Announces the next frame: the caller of the last frame of `so_far` will be asked for.
  virtual void begin(const Cursor& cursor, const Trace& so_far) = 0;
  /// Like `FrameStepper::step`. Asked in the order of the turns; in each repeatedly, as long as its answers are
  /// rejected, until it answers `not_mine`.
  [[nodiscard]] virtual StepOutcome step(Turn turn, Cursor& cursor) = 0;
  /// Whether an address is code although no owner claims it: then it may be a return address.
  [[nodiscard]] virtual bool knows(Address code) = 0;
};

}  // namespace mixstack::walk
