// Who takes part in a walk beside the chain of steppers, and where nobody else knows the code.
#pragma once

#include <cstdint>

#include "walk_core/stepper.h"

namespace mixstack::walk {

/// Unlike an owner it does not describe frames: one that answers `not_mine` to everything changes nothing. Must not
/// throw.
class Advisor {
 public:
  /// When it is asked for a frame's caller.
  enum class Turn : std::uint8_t {
    first,   ///< before the frame's owner
    middle,  ///< between the owner and the fallbacks
    last,    ///< after all others
  };
  virtual ~Advisor() = default;
  /// The caller of the last frame of `so_far` is sought from now on.
  virtual void begin(const Cursor& cursor, const Trace& so_far) = 0;
  /// As `FrameStepper::step`. Asked in the order of the turns; in each again and again, as long as what it answers is
  /// refused, until it answers `not_mine`.
  [[nodiscard]] virtual StepOutcome step(Turn turn, Cursor& cursor) = 0;
  /// Whether an address is code although no owner claims it: a return address may lead there.
  [[nodiscard]] virtual bool knows(Address code) = 0;
};

}  // namespace mixstack::walk
