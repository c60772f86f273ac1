#include "engine/unwind/rule_step.h"

#include <optional>

namespace mixstack::unwind {
namespace {

/// The slot for a CPU whose stacks are not walked.
constexpr RuleSlot kNoSlot;

}  // namespace

void RuleStepper::set_modules(NativeModules modules) {
  modules_ = std::move(modules);
  clear_cache();
}

void RuleStepper::clear_cache() {
  cache_.clear();
  interpreted_.reset();
}

void RuleStepper::rebind(RuleSource* source, std::uint64_t generation) {
  source_ = source;
  generation_ = generation;
  if (!has_outside_) return;
  cache_.forget_outside();
  interpreted_.reset();
  has_outside_ = false;
}

Result<UnwindRule> RuleStepper::rule_at(CodeAddress pc) const {
  const NativeModule* module = module_at(pc);
  if (module == nullptr && source_ != nullptr) return source_->general(pc);
  if (module == nullptr) return fail(ErrorCode::not_found, pc.raw());
  const UnwindTable* table = modules_.table(*module);
  if (table == nullptr) return fail(ErrorCode::no_unwind_info, pc.raw());
  return table->rule(pc.lookup() - module->load_bias, module->load_bias);
}

const RuleSlot& RuleStepper::find_exact(Address pc) {
  const Address key = RuleCache::key_of(CodeAddress::exact(pc));
  const RuleSlot& slot =
      *arch::dispatch(arch_, &kNoSlot, [&]<Arch A>() -> const RuleSlot* { return &cache_.slot<A>(key); });
  return slot.key == key ? slot : replace(CodeAddress::exact(pc));
}

const RuleSlot& RuleStepper::refill(Address return_address) { return replace(CodeAddress::after_call(return_address)); }

const RuleSlot& RuleStepper::replace(CodeAddress pc) {
  cache_.count_miss();
  const Address key = RuleCache::key_of(pc);
  return *arch::dispatch(arch_, &kNoSlot,
                         [&]<Arch A>() -> const RuleSlot* { return &fill<A>(cache_.slot<A>(key), pc); });
}

Result<UnwindRule> RuleStepper::general_rule(const RuleSlot& slot, CodeAddress pc) {
  if (slot.rule->kind != CompactKind::interpret) return expand(*slot.rule, arch_);
  if (interpreted_ == nullptr) interpreted_ = std::make_unique<Interpreted[]>(kInterpretedSlots);
  Interpreted& kept = interpreted_[(slot.key ^ slot.key >> 6) % kInterpretedSlots];
  if (kept.key == slot.key) return kept.rule;
  auto rule = rule_at(pc);
  if (rule) kept = {slot.key, *rule};
  return rule;
}

RuleStep RuleStepper::slow_step(const RuleSlot& slot, CodeAddress pc, Registers& registers, const StackView& stack) {
  RuleStep result;
  result.module = slot.module;
  if (slot.rule->kind == CompactKind::none) {
    error_ = {ErrorCode::no_unwind_info, 0, pc.raw()};
    if (slot.module == kNoModule) result.status = RuleStatus::no_code;
    return result;
  }
  const auto rule = general_rule(slot, pc);
  if (!rule) {
    error_ = rule.error();
    return result;
  }
  result.found_by = rule->origin;
  const Address sp = registers.sp();
  Registers changed = registers;
  const auto caller = apply(*rule, changed, pc, stack, pac_mask_);
  if (!caller) {
    error_ = caller.error();
    return result;
  }
  result.cfa = caller->cfa;
  if (caller->is_end_of_stack) {
    result.status = RuleStatus::end_of_stack;
    return result;
  }
  if (!walk::advances(sp, caller->cfa, pc.is_exact(), arch_, true) && !rule->is_signal_frame) {
    error_ = {ErrorCode::stack_not_advancing, 0, caller->cfa};
    return result;
  }
  registers = changed;
  result.pc = caller->pc;
  result.status = RuleStatus::caller;
  return result;
}

RuleStep RuleStepper::slow_light(const RuleSlot& slot, LightFrame& frame, const StackView& stack) {
  Registers registers = frame.registers(arch_);
  const RuleStep result = slow_step(slot, frame.pc, registers, stack);
  if (result.status != RuleStatus::caller) return result;
  frame.pc = result.pc;
  frame.take(registers);
  return result;
}

}  // namespace mixstack::unwind
