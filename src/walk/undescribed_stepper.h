// Executable memory that nobody describes: write-barrier copies, precode, dispatch stubs, thunks of foreign JITs.
#pragma once

#include <functional>
#include <vector>

#include "mixstack/memory_reader.h"
#include "object/module_map.h"
#include "walk_core/bare_code.h"
#include "walk_core/stepper.h"

namespace mixstack::walk {

/// Claims what no other stepper claimed as long as it is executable; as a fallback it also serves native code without
/// CFI, such as the parent's way out of a clone wrapper. The caller of such code is looked for only where
/// it was interrupted: small patched stubs have no frame, so the return address lies at [sp], or at [sp+8] when the
/// stub saved one register ([sp+16]: two, as stubs of a runtime do), or still in the link register. It is believed only
/// if a call instruction ends there and `is_described` knows the code (managed, or with a rule); where the code is not
/// there to be looked at (small cores), only inside a method, and not where one begins. The frame pointer is
/// never used: it is the caller's, and would drop the very method that called the stub.
class UndescribedStepper final : public FrameStepper {
 public:
  /// `executable` ascending and disjoint. `code` reads the target's instructions. With `modules` frames say in which
  /// file's mapping they lie, and where in the file. Borrows all.
  UndescribedStepper(std::vector<AddressRange> executable, const MemoryReader& code,
                     std::function<bool(Frame&)> is_described, const object::ModuleMap* modules = nullptr);

  [[nodiscard]] std::string_view name() const override { return "undescribed"; }
  [[nodiscard]] bool claim(Frame& frame) override;
  [[nodiscard]] StepOutcome step(Cursor& cursor, const ThreadInput& thread) override;

 private:
  using Belief = ReturnBelief;
  [[nodiscard]] Belief look_at(Arch arch, Address return_address) const;

  std::vector<AddressRange> executable_;
  const MemoryReader& code_;
  std::function<bool(Frame&)> is_described_;
  const object::ModuleMap* modules_;
};

}  // namespace mixstack::walk
