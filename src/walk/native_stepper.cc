#include "walk/native_stepper.h"

#include <algorithm>

#include "unwind/apply.h"

namespace mixstack::walk {

const unwind::UnwindTable& NativeTables::table(ModuleIndex index) {
  auto& slot = tables_[index];
  if (!slot) {
    auto image = modules_.image(index);
    slot = image ? unwind::UnwindTable::create(*image) : unwind::UnwindTable::create(object::UnwindSections{}, {});
  }
  return *slot;
}

bool NativeStepper::claim(Frame& frame) {
  const object::ModuleMap& map = tables_.modules();
  const Address pc = frame.pc.lookup();
  const ModuleIndex index = map.find(pc);
  if (index == kNoModule) return false;
  const object::Module& module = map.modules()[index];
  if (module.kind != object::ModuleKind::elf || !map.is_executable(pc)) return false;
  frame.kind = FrameKind::native;
  frame.module = index;
  frame.module_offset = module.link_address(pc);
  return true;
}

StepOutcome NativeStepper::step(Cursor& cursor, const ThreadInput& thread) {
  Frame& frame = cursor.frame;
  if (frame.kind != FrameKind::native || frame.module == kNoModule) return {};
  StepOutcome outcome{.status = StepStatus::failed, .stepper = StepperId::eh_frame};
  const Address bias = tables_.modules().modules()[frame.module].load_bias;
  auto rule = tables_.table(frame.module).rule(frame.module_offset, bias);
  if (!rule) {
    outcome.error = rule.error();
    return outcome;
  }
  if (rule->origin != StepperId::none) outcome.stepper = rule->origin;
  auto caller = unwind::apply(*rule, cursor.registers, frame.pc, thread.stack, pac_mask_);
  if (!caller) {
    outcome.error = caller.error();
    return outcome;
  }
  outcome.trust = rule->trust;
  outcome.caller_interrupted = rule->is_signal_frame;
  outcome.status = caller->is_end_of_stack ? StepStatus::end_of_stack : StepStatus::caller;
  return outcome;
}

}  // namespace mixstack::walk
