// A user's stepper behind a guard.
#pragma once

#include <memory>

#include "mixstack/stepper_chain.h"

namespace mixstack::walk {

/// Keeps a user's stepper to its range, and its exceptions from the walk: one that throws has failed.
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
