// Guards a user's stepper.
#pragma once

#include <memory>

#include "mixstack/stepper_chain.h"

namespace mixstack::walk {

/// Limits a user's stepper to its range, and turns its exceptions into failures.
class UserStepper final : public FrameStepper {
 public:
  UserStepper(std::shared_ptr<FrameStepper> stepper, AddressRange range)
      : stepper_(std::move(stepper)), range_(range) {}
  [[nodiscard]] std::string_view name() const override { return stepper_->name(); }
  [[nodiscard]] bool claim(Frame& frame) override;
  [[nodiscard]] StepOutcome step(Cursor& cursor, const ThreadInput& thread) override;

 private:
  std::shared_ptr<FrameStepper> stepper_;
  AddressRange range_;
};

}  // namespace mixstack::walk
