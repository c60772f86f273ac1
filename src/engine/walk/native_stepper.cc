#include "engine/walk/native_stepper.h"

#include <algorithm>

namespace mixstack::walk {

unwind::NativeModules native_modules(const images::ModuleMap& modules, Tables tables) {
  std::vector<unwind::NativeModule> list;
  for (ModuleIndex i = 0; i < modules.modules().size(); i++) {
    const images::Module& m = modules.modules()[i];
    if (m.kind != images::ModuleKind::elf) continue;
    // One entry per executable mapping: images may lie in each other's gaps (single-file programs).
    for (const AddressRange& range : m.executable) list.push_back({range, m.load_bias, i, nullptr});
  }
  auto loader = [&modules, tables = std::move(tables)](ModuleIndex i) -> std::shared_ptr<const unwind::UnwindTable> {
    auto image = modules.image(i);
    return image ? tables->of(*image) : nullptr;
  };
  return unwind::NativeModules(std::move(list), std::move(loader));
}

NativeStepper::NativeStepper(const images::ModuleMap& modules, Arch arch, std::uint64_t pac_mask, Tables tables)
    : tables_(std::move(tables)), engine_(arch, pac_mask) {
  engine_.set_modules(native_modules(modules, tables_));
  for (const images::Module& m : modules.modules()) load_biases_.push_back(m.load_bias);
}

StepOutcome outcome_of(const unwind::RuleStep& step, const unwind::RuleStepper& engine) {
  StepOutcome outcome;
  outcome.stepper = step.found_by != StepperId::none ? step.found_by : StepperId::eh_frame;
  switch (step.status) {
    case unwind::RuleStatus::caller:
      outcome.status = StepStatus::caller;
      outcome.caller_interrupted = step.pc.is_exact();
      break;
    case unwind::RuleStatus::end_of_stack:
      outcome.status = StepStatus::end_of_stack;
      break;
    case unwind::RuleStatus::no_code:
      outcome.status = StepStatus::not_mine;
      break;
    case unwind::RuleStatus::failed:
      outcome.status = StepStatus::failed;
      outcome.error = engine.error();
      break;
  }
  return outcome;
}

bool NativeStepper::claim(Frame& frame) {
  const ModuleIndex module = engine_.module_of(frame.pc);
  if (module == kNoModule) return false;
  frame.kind = FrameKind::native;
  frame.module = module;
  frame.module_offset = frame.pc.lookup() - load_biases_[module];
  return true;
}

std::optional<Address> NativeStepper::function_start(const Frame& frame) const {
  const unwind::NativeModule* module = engine_.module_at(frame.pc);
  const unwind::UnwindTable* table = module != nullptr ? engine_.modules().table(*module) : nullptr;
  if (table == nullptr) return std::nullopt;
  const auto function = table->function_at(frame.pc.lookup() - module->load_bias);
  if (!function) return std::nullopt;
  return function->begin + module->load_bias;
}

StepOutcome NativeStepper::step(Cursor& cursor, const ThreadInput& thread) {
  const Frame& frame = cursor.frame;
  if (frame.kind != FrameKind::native || frame.module == kNoModule) return {};
  return outcome_of(engine_.step(frame.pc, cursor.registers, thread.stack), engine_);
}

}  // namespace mixstack::walk
