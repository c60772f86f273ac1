#include <algorithm>
#include <tuple>
#include <utility>

#include "frontends/stackwalker/access.h"
#include "frontends/stackwalker/error_map.h"

namespace Dyninst::Stackwalker {

StepperGroup::StepperGroup(Walker* w) : walker(w) {}
StepperGroup::~StepperGroup() = default;
Walker* StepperGroup::getWalker() const { return walker; }
void StepperGroup::getSteppers(std::set<FrameStepper*>& out) { out.insert(steppers.begin(), steppers.end()); }

bool StepperGroup::addStepper(FrameStepper* stepper) {
  if (stepper == nullptr) return failed(err_badparam, "addStepper: no stepper");
  registerStepper(stepper);
  return true;
}

void StepperGroup::registerStepper(FrameStepper* stepper) {
  if (stepper == nullptr) return;
  WalkerAccess::adopt(*stepper, walker);
  stepper->registerStepperGroup(this);
  steppers.insert(stepper);
}

void StepperGroup::newLibraryNotification(LibAddrPair* libaddr, lib_change_t change) {
  const std::set<FrameStepper*> now = steppers;  // a stepper may add others
  for (FrameStepper* stepper : now) stepper->newLibraryNotification(libaddr, change);
}

struct AddrRangeGroup::Ranges {
  struct Range {
    Address start = 0, end = 0;
    FrameStepper* stepper = nullptr;
    unsigned priority = 0;
    std::size_t number = 0;  ///< order of addition
  };
  std::vector<Range> list;                    ///< in the order of asking
  const FrameStepper* registering = nullptr;  ///< the stepper that registerStepper is telling

  [[nodiscard]] auto count(const FrameStepper* stepper) const {
    return std::count_if(list.begin(), list.end(), [&](const Range& r) { return r.stepper == stepper; });
  }
};

AddrRangeGroup::AddrRangeGroup(Walker* w) : StepperGroup(w), ranges_(std::make_unique<Ranges>()) {}
AddrRangeGroup::~AddrRangeGroup() = default;

bool AddrRangeGroup::addStepper(FrameStepper* stepper, Address start, Address end) {
  if (stepper == nullptr || start >= end) return failed(err_badparam, "addStepper: no stepper, or an empty range");
  const bool is_new = steppers.insert(stepper).second && ranges_->registering != stepper;
  WalkerAccess::adopt(*stepper, walker);
  ranges_->list.push_back({start, end, stepper, stepper->getPriority(), ranges_->list.size()});
  std::sort(ranges_->list.begin(), ranges_->list.end(), [](const Ranges::Range& a, const Ranges::Range& b) {
    return std::tie(a.priority, a.number) < std::tie(b.priority, b.number);
  });
  if (is_new) stepper->registerStepperGroup(this);
  return true;
}

void AddrRangeGroup::registerStepper(FrameStepper* stepper) {
  if (stepper == nullptr) return;
  const auto before = ranges_->count(stepper);
  const FrameStepper* outer = std::exchange(ranges_->registering, stepper);
  StepperGroup::registerStepper(stepper);
  ranges_->registering = outer;
  if (ranges_->count(stepper) == before) (void)addStepper(stepper, 0, ~Address{0});
}

bool AddrRangeGroup::findStepperForAddr(Address addr, FrameStepper*& out, const FrameStepper* last_tried) {
  // Each stepper once, however many of its ranges contain the address.
  std::vector<const FrameStepper*> passed;
  bool after_last = last_tried == nullptr;
  for (const Ranges::Range& range : ranges_->list) {
    if (addr < range.start || addr >= range.end) continue;
    const bool seen = std::find(passed.begin(), passed.end(), range.stepper) != passed.end();
    if (seen) continue;
    passed.push_back(range.stepper);
    if (after_last) {
      out = range.stepper;
      return true;
    }
    after_last = range.stepper == last_tried;
  }
  return failed(err_nostepper, nullptr);
}

}  // namespace Dyninst::Stackwalker
