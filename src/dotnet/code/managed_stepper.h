// Managed code in the mixed walk: claimed by the runtime's own code maps, unwound by its own unwind codes.
#pragma once

#include "dotnet/code/code_manager.h"
#include "walk/stepper.h"

namespace mixstack::dotnet {

/// Claims code of methods (JIT and ReadyToRun) and of the runtime's stubs. Stubs are claimed, so that they are named,
/// but stepped out of by others (walk/undescribed_stepper.h). Borrows the code manager.
class ManagedStepper final : public walk::FrameStepper {
 public:
  ManagedStepper(CodeManager& code, std::uint64_t pac_mask) : code_(code), pac_mask_(pac_mask) {}

  [[nodiscard]] std::string_view name() const override { return "managed"; }
  [[nodiscard]] bool claim(Frame& frame) override;
  [[nodiscard]] walk::StepOutcome step(walk::Cursor& cursor, const walk::ThreadInput& thread) override;

 private:
  CodeManager& code_;
  std::uint64_t pac_mask_;
};

}  // namespace mixstack::dotnet
