#include "engine/walk/user_stepper.h"

namespace mixstack::walk {

bool UserStepper::claim(Frame& frame) {
  if (!range_.empty() && !range_.contains(frame.pc.lookup())) return false;
  const Frame before = frame;
  try {
    if (stepper_->claim(frame)) return true;
  } catch (...) {
  }
  frame = before;
  return false;
}

StepOutcome UserStepper::step(Cursor& cursor, const ThreadInput& thread) {
  StepOutcome outcome;
  try {
    outcome = stepper_->step(cursor, thread);
  } catch (...) {
    outcome = {.status = StepStatus::failed, .error = {ErrorCode::internal, 0, 0}};
  }
  if (outcome.stepper == StepperId::none) outcome.stepper = StepperId::user;
  return outcome;
}

}  // namespace mixstack::walk
