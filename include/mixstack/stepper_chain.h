// Users' steppers and their position among the engine's own.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mixstack/address.h"
#include "mixstack/stepper.h"

namespace mixstack {

/// The order in which steppers are asked. The engine's own, in this order: "cfi" (images with call frame information),
/// "managed" (one per runtime), "copied code" (write barriers), "jit image" (code registered for debuggers), "pe image"
/// (precompiled code that no runtime tells of), "undescribed". If the owner of a frame cannot find its caller: "newborn
/// thread", "signal trampoline", "prologue", "undescribed", "frame pointer". Additions are shared with their owner and
/// live at least as long as the chain. Not thread-safe; changes apply from the next walk on.
class StepperChain {
 public:
  struct Addition {
    std::string before;  ///< name of a stepper; empty: at the end of both lists
    AddressRange range;  ///< empty: any address
    std::shared_ptr<FrameStepper> stepper;
  };

  /// Adds a stepper that is asked after all others: it owns frames that no other claims, and is the last to find a
  /// caller.
  void append(std::shared_ptr<FrameStepper> stepper);
  /// Adds a stepper that is asked before the first one of that name, the engine's or an added one. False: there is
  /// none, and nothing changed.
  [[nodiscard]] bool insert_before(std::string_view name, std::shared_ptr<FrameStepper> stepper);
  /// Adds a stepper for code inside `range` (a JIT's), asked before all others, and never for other code. If ranges
  /// overlap, the one claimed last is asked first. If it answers `not_mine`, the frame's real owner is asked.
  void claim(AddressRange range, std::shared_ptr<FrameStepper> stepper);
  /// Removes every addition of this stepper; false: there is none.
  bool remove(const FrameStepper& stepper);

  /// Names of all steppers in the order of asking, claims first.
  [[nodiscard]] std::vector<std::string> order() const;
  [[nodiscard]] const std::vector<Addition>& additions() const { return additions_; }

 private:
  std::vector<Addition> additions_;
};

}  // namespace mixstack
