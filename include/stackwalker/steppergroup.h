// Which stepper walks through which code (manual, class StepperGroup).
#pragma once

#include <memory>
#include <set>

#include "basetypes.h"
#include "procstate.h"

namespace Dyninst::Stackwalker {

class FrameStepper;
class Walker;
class WalkerAccess;

class StepperGroup {
 public:
  explicit StepperGroup(Walker* walker);
  virtual ~StepperGroup();
  StepperGroup(const StepperGroup&) = delete;
  StepperGroup& operator=(const StepperGroup&) = delete;

  /// Registers a stepper that is not the group's to free. False with err_badparam for null.
  virtual bool addStepper(FrameStepper* stepper);
  /// For frames whose code lies in [start, end). The default group tells a stepper that it did not know.
  virtual bool addStepper(FrameStepper* stepper, Address start, Address end) = 0;
  /// Makes it known and tells it (`FrameStepper::registerStepperGroup`).
  virtual void registerStepper(FrameStepper* stepper);
  /// `last_tried` is the stepper that declined, null at first.
  virtual bool findStepperForAddr(Dyninst::Address addr, FrameStepper*& out,
                                  const FrameStepper* last_tried = nullptr) = 0;
  /// Tells all steppers.
  virtual void newLibraryNotification(LibAddrPair* libaddr, lib_change_t change);
  [[nodiscard]] virtual Walker* getWalker() const;
  void getSteppers(std::set<FrameStepper*>& steppers);

 protected:
  Walker* walker;
  std::set<FrameStepper*> steppers;

 private:
  friend class WalkerAccess;
};

/// The default: address ranges, lowest priority number first; of equal ones the one added first. All are kept.
class AddrRangeGroup : public StepperGroup {
 public:
  explicit AddrRangeGroup(Walker* walker);
  ~AddrRangeGroup() override;
  using StepperGroup::addStepper;
  bool addStepper(FrameStepper* stepper, Address start, Address end) override;
  /// A stepper that adds no range when it is told is used for all addresses.
  void registerStepper(FrameStepper* stepper) override;
  bool findStepperForAddr(Dyninst::Address addr, FrameStepper*& out, const FrameStepper* last_tried = nullptr) override;

 private:
  struct Ranges;
  std::unique_ptr<Ranges> ranges_;
};

}  // namespace Dyninst::Stackwalker
