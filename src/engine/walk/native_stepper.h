// Native code by its call frame information.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/images/module_map.h"
#include "engine/unwind/rule_step.h"
#include "engine/unwind/unwind_tables.h"
#include "engine/walk_core/stepper.h"

namespace mixstack::walk {

using Tables = std::shared_ptr<unwind::UnwindTables>;

/// The ELF images of a target in the form that the native step needs. Tables are made at first use. Borrows the map.
[[nodiscard]] unwind::NativeModules native_modules(const images::ModuleMap& modules, Tables tables);

/// Translates a step of the engine.
[[nodiscard]] StepOutcome outcome_of(const unwind::RuleStep& step, const unwind::RuleStepper& engine);

/// Claims code of ELF images and unwinds it by .eh_frame or .debug_frame, all callee-saved registers included. Signal
/// frames are recognised by their augmentation. Not thread-safe: owns the rule cache.
class NativeStepper final : public FrameStepper {
 public:
  /// `pac_mask`: bits of a pointer used by authentication (AArch64), else 0. Borrows the map. May be used for any
  /// number of captures, one after the other, as long as the map is valid.
  NativeStepper(const images::ModuleMap& modules, Arch arch, std::uint64_t pac_mask, Tables tables);

  [[nodiscard]] std::string_view name() const override { return "cfi"; }
  [[nodiscard]] bool claim(Frame& frame) override;
  [[nodiscard]] StepOutcome step(Cursor& cursor, const ThreadInput& thread) override;
  [[nodiscard]] const Tables& tables() const { return tables_; }
  /// Start of the function around the frame's pc, by its FDE.
  [[nodiscard]] std::optional<Address> function_start(const Frame& frame) const;
  /// Executes the rules. Shared with steppers of code that other sources describe, which bind their own.
  [[nodiscard]] unwind::RuleStepper& engine() { return engine_; }
  void set_pac_mask(std::uint64_t mask) { engine_.set_pac_mask(mask); }
  /// The rule of a step from there; errors as in unwind::RuleStepper::rule_at.
  [[nodiscard]] Result<unwind::UnwindRule> rule_at(CodeAddress pc) const { return engine_.rule_at(pc); }

 private:
  Tables tables_;
  std::vector<std::uint64_t> load_biases_;  ///< by module
  unwind::RuleStepper engine_;
};

}  // namespace mixstack::walk
