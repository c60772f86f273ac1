// Generated code that its compiler registers for debuggers, by the call frame information of its images.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/images/jit_images.h"
#include "engine/unwind/rule_step.h"
#include "engine/unwind/unwind_tables.h"
#include "engine/walk_core/stepper.h"

namespace mixstack::walk {

/// Claims such code as native, without a module. Images count only inside `generated`, memory in which code may have
/// been generated. Asks for the images at the first pc there, and keeps them: it belongs to one capture. Not
/// thread-safe: owns a rule cache, once there are images.
class JitImageStepper final : public FrameStepper {
 public:
  using Source = std::function<std::shared_ptr<const images::JitImages>()>;
  /// `generated` ascending; `images` may return null: none.
  JitImageStepper(std::vector<AddressRange> generated, Source images, std::shared_ptr<unwind::UnwindTables> tables,
                  Arch arch, std::uint64_t pac_mask);

  [[nodiscard]] std::string_view name() const override { return "jit image"; }
  [[nodiscard]] bool claim(Frame& frame) override;
  [[nodiscard]] StepOutcome step(Cursor& cursor, const ThreadInput& thread) override;

 private:
  [[nodiscard]] bool is_generated(Address address) const;
  void load();

  std::vector<AddressRange> generated_;
  Source source_;
  std::shared_ptr<unwind::UnwindTables> tables_;
  Arch arch_;
  std::uint64_t pac_mask_;
  bool is_loaded_ = false;
  std::shared_ptr<const images::JitImages> images_;  ///< null: not asked for yet, or none
  std::optional<unwind::RuleStepper> engine_;        ///< where there are any
};

}  // namespace mixstack::walk
