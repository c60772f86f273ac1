#include "engine/walk/newborn_stepper.h"

#include <array>

#include "base/arch/clone_return.h"

namespace mixstack::walk {

StepOutcome NewbornStepper::step(Cursor& cursor, const ThreadInput& thread) {
  if (!cursor.frame.is_interrupted || cursor.frame.kind != FrameKind::native) return {};
  if (!arch::may_be_child_of_clone(cursor.registers)) return {};
  std::array<std::byte, arch::kMaxCloneReturnLength> code;
  if (!code_.read_exact(cursor.registers.pc(), code)) return {};
  const auto target = arch::child_after_clone(cursor.registers, code);
  if (!target) return {};
  Cursor there = cursor;
  there.registers.set_pc(*target);
  there.frame.pc = CodeAddress::exact(*target);
  if (!native_.claim(there.frame)) return {};
  const StepOutcome outcome = native_.step(there, thread);
  return outcome.status == StepStatus::end_of_stack ? outcome : StepOutcome{};
}

StepOutcome NativeOrNewbornStepper::step(Cursor& cursor, const ThreadInput& thread) {
  const StepOutcome born = newborn_.step(cursor, thread);
  return born.status == StepStatus::end_of_stack ? born : native_.step(cursor, thread);
}

}  // namespace mixstack::walk
