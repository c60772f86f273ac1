// Managed code in the mixed walk: claimed by the runtime's own code maps, unwound by its own unwind codes.
#pragma once

#include "dotnet/code/generic_context.h"
#include "engine/unwind/rule_step.h"
#include "engine/walk_core/stepper.h"

namespace mixstack::dotnet {

/// Claims code of methods (JIT and ReadyToRun) and of the runtime's stubs. Stubs are claimed, so that they are named,
/// but stepped out of by others (engine/walk/undescribed_stepper.h). Rules are executed by the walk's engine, which
/// keeps them beside those of native code. Borrows both.
class ManagedStepper final : public walk::FrameStepper {
 public:
  explicit ManagedStepper(CodeManager& code) : code_(code), contexts_(code) {}
  /// To be called before the first step of a walk.
  void use(unwind::RuleStepper& engine) { engine_ = &engine; }
  /// To be called before the first step in a capture: see GenericContexts::begin_capture.
  void begin_capture(const MemoryReader* objects) { contexts_.begin_capture(objects); }

  /// Images were loaded or unloaded.
  void forget_images() { contexts_.forget_images(); }

  [[nodiscard]] std::string_view name() const override { return "managed"; }
  [[nodiscard]] bool claim(Frame& frame) override;
  [[nodiscard]] walk::StepOutcome step(walk::Cursor& cursor, const walk::ThreadInput& thread) override;

 private:
  CodeManager& code_;
  GenericContexts contexts_;
  unwind::RuleStepper* engine_ = nullptr;
};

}  // namespace mixstack::dotnet
