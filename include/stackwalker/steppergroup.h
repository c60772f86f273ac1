// Chooses the stepper for an address (manual, class StepperGroup).
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

  /// Adds a stepper for all addresses. The caller keeps ownership. False, with err_badparam, for null.
  virtual bool addStepper(FrameStepper* stepper);
  /// Adds a stepper for code in [start, end). The default group also registers a stepper that it does not know yet.
  virtual bool addStepper(FrameStepper* stepper, Address start, Address end) = 0;
  /// Adds the stepper and calls its `FrameStepper::registerStepperGroup`.
  virtual void registerStepper(FrameStepper* stepper);
  /// The next stepper to ask for an address. `last_tried`: the stepper that declined; null at first.
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

/// The default group: address ranges by ascending priority number, then in order of addition. Keeps all of them.
class AddrRangeGroup : public StepperGroup {
 public:
  explicit AddrRangeGroup(Walker* walker);
  ~AddrRangeGroup() override;
  using StepperGroup::addStepper;
  bool addStepper(FrameStepper* stepper, Address start, Address end) override;
  /// A stepper that adds no range in its registerStepperGroup is used for all addresses.
  void registerStepper(FrameStepper* stepper) override;
  bool findStepperForAddr(Dyninst::Address addr, FrameStepper*& out, const FrameStepper* last_tried = nullptr) override;

 private:
  struct Ranges;
  std::unique_ptr<Ranges> ranges_;
};

}  // namespace Dyninst::Stackwalker
