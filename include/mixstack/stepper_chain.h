// Users' steppers and where they stand among the engine's own.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mixstack/address.h"
#include "mixstack/stepper.h"

namespace mixstack {

/// The order in which steppers are asked. The engine's own, in this order: "cfi" (images with call frame
/// information), "managed" (one per runtime), "copied code" (write barriers), "jit image" (code shown to debuggers),
/// "undescribed"; when the owner of a frame cannot find its caller: "newborn thread", "signal trampoline", "prologue",
/// "undescribed", "frame pointer". Additions are shared with their owner and live as long as the chain. Not
/// thread-safe; changes count from the next walk on.
class StepperChain {
 public:
  struct Addition {
    std::string before;  ///< name of a stepper; empty: at the end of both lists
    AddressRange range;  ///< empty: any address
    std::shared_ptr<FrameStepper> stepper;
  };

  /// Asked after all others: owns what nobody else claims, and is the last to find a caller.
  void append(std::shared_ptr<FrameStepper> stepper);
  /// Asked before the first stepper of that name, the engine's or an added one. False: there is none, nothing changed.
  [[nodiscard]] bool insert_before(std::string_view name, std::shared_ptr<FrameStepper> stepper);
  /// For code inside `range` (a JIT's), asked before all others; for other code never. Of two ranges that overlap the
  /// one claimed last is asked first. A frame for which the stepper answers `not_mine` is its real owner's.
  void claim(AddressRange range, std::shared_ptr<FrameStepper> stepper);
  /// Forgets every addition of this stepper; false when there is none.
  bool remove(const FrameStepper& stepper);

  /// Names of all steppers as they are asked, claims first.
  [[nodiscard]] std::vector<std::string> order() const;
  [[nodiscard]] const std::vector<Addition>& additions() const { return additions_; }

 private:
  std::vector<Addition> additions_;
};

}  // namespace mixstack
