// Executable memory without a description: write-barrier copies, precode, dispatch stubs, thunks of foreign JITs.
#pragma once

#include <functional>
#include <vector>

#include "engine/images/module_map.h"
#include "engine/walk_core/bare_code.h"
#include "engine/walk_core/stepper.h"
#include "mixstack/memory_reader.h"

namespace mixstack::walk {

/// Claims executable code that no other stepper claims; as a fallback it also handles native code without CFI, such as
/// the parent's path out of a clone wrapper. It finds the caller only of interrupted code: small patched stubs have no
/// frame, so the return address is at [sp], at [sp+8] if the stub saved one register ([sp+16]: two, as stubs of a
/// runtime do), or still in the link register. It is accepted only if a call instruction ends there and `is_described`
/// knows the code (managed, or with a rule). If the code is not available (small cores), it must be inside a method,
/// and not at the start of one. The frame pointer is never used: it is the caller's, and would skip the very method
/// that called the stub.
class UndescribedStepper final : public FrameStepper {
 public:
  /// `executable` ascending and disjoint. `code` reads the target's instructions. With `modules`, frames tell the file
  /// whose mapping they are in, and the offset. Borrows all.
  UndescribedStepper(std::vector<AddressRange> executable, const MemoryReader& code,
                     std::function<bool(Frame&)> is_described, const images::ModuleMap* modules = nullptr);

  [[nodiscard]] std::string_view name() const override { return "undescribed"; }
  [[nodiscard]] bool claim(Frame& frame) override;
  [[nodiscard]] StepOutcome step(Cursor& cursor, const ThreadInput& thread) override;

 private:
  using Belief = ReturnBelief;
  [[nodiscard]] Belief look_at(Arch arch, Address return_address) const;

  std::vector<AddressRange> executable_;
  const MemoryReader& code_;
  std::function<bool(Frame&)> is_described_;
  const images::ModuleMap* modules_;
};

}  // namespace mixstack::walk
