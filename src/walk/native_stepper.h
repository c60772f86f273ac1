// Native code by its call frame information.
#pragma once

#include <memory>
#include <vector>

#include "object/module_map.h"
#include "unwind/unwind_table.h"
#include "walk/stepper.h"

namespace mixstack::walk {

/// The unwind tables of a process's images, opened when first needed. Shared by the steppers of one session; not
/// thread-safe while tables are being opened. Borrows the module map.
class NativeTables {
 public:
  explicit NativeTables(const object::ModuleMap& modules) : modules_(modules), tables_(modules.modules().size()) {}

  [[nodiscard]] const object::ModuleMap& modules() const { return modules_; }
  /// Never null; empty when the image has no CFI or cannot be opened.
  [[nodiscard]] const unwind::UnwindTable& table(ModuleIndex index);

 private:
  const object::ModuleMap& modules_;
  std::vector<std::shared_ptr<const unwind::UnwindTable>> tables_;
};

/// Claims code of ELF images and unwinds it by .eh_frame or .debug_frame, all callee-saved registers included. Signal
/// frames are recognised by their augmentation.
class NativeStepper final : public FrameStepper {
 public:
  /// `pac_mask`: bits of a pointer that authentication uses (AArch64), else 0. Borrows the tables.
  NativeStepper(NativeTables& tables, std::uint64_t pac_mask) : tables_(tables), pac_mask_(pac_mask) {}

  [[nodiscard]] std::string_view name() const override { return "cfi"; }
  [[nodiscard]] bool claim(Frame& frame) override;
  [[nodiscard]] StepOutcome step(Cursor& cursor, const ThreadInput& thread) override;

 private:
  NativeTables& tables_;
  std::uint64_t pac_mask_;
  ModuleIndex last_ = kNoModule;
};

}  // namespace mixstack::walk
