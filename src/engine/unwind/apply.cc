#include "engine/unwind/apply.h"

#include <algorithm>

#include "base/arch/cpu.h"
#include "engine/unwind/expression.h"

namespace mixstack::unwind {
namespace {

/// Reads the callee's state; the steps of expressions are counted over the whole frame.
class Evaluator {
 public:
  Evaluator(const UnwindRule& rule, const Registers& registers, CodeAddress pc, const StackView& stack)
      : rule_(rule),
        registers_(registers),
        pc_(pc),
        stack_(stack),
        pointer_size_(arch_registers(registers.arch()).pointer_size) {}

  [[nodiscard]] Result<Address> compute_cfa() {
    switch (rule_.cfa_kind) {
      case CfaKind::register_offset:
        return register_plus(rule_.cfa_register, rule_.cfa_offset);
      case CfaKind::deref_register_offset: {
        const auto address = register_plus(rule_.cfa_register, rule_.cfa_offset);
        if (!address) return address;
        return word(*address);
      }
      case CfaKind::plt: {
        const std::int32_t pushed = (pc_.raw() & 15) >= rule_.plt_step ? 8 : 0;
        return register_plus(rule_.cfa_register, std::int64_t{rule_.cfa_offset} + pushed);
      }
      case CfaKind::expression:
        return expression(static_cast<std::uint32_t>(rule_.cfa_offset), std::nullopt);
      case CfaKind::undefined:
        break;
    }
    return fail(ErrorCode::no_unwind_info, pc_.raw());
  }
  void set_cfa(Address cfa) { cfa_ = cfa; }

  /// The caller's value by one rule. `register_unknown` with its own number where the rule says undefined.
  [[nodiscard]] Result<std::uint64_t> value(const RegisterRule& r) {
    switch (r.kind) {
      case RegisterRuleKind::same_value:
        return register_plus(r.reg, 0);
      case RegisterRuleKind::undefined:
        break;
      case RegisterRuleKind::is_cfa_offset:
        return truncate(cfa_ + extend(r.value));
      case RegisterRuleKind::in_register:
        return register_plus(r.base, 0);
      case RegisterRuleKind::is_expression:
        return expression(static_cast<std::uint32_t>(r.value), cfa_);
      case RegisterRuleKind::at_cfa_offset:
      case RegisterRuleKind::at_register_offset:
      case RegisterRuleKind::at_expression: {
        const auto where = address(r);
        if (!where) return where;
        return word(*where);
      }
    }
    return fail(ErrorCode::register_unknown, r.reg);
  }
  /// Where a rule of one of the `at_` kinds says the value lies.
  [[nodiscard]] Result<Address> address(const RegisterRule& r) {
    if (r.kind == RegisterRuleKind::at_cfa_offset) return truncate(cfa_ + extend(r.value));
    if (r.kind == RegisterRuleKind::at_register_offset) return register_plus(r.base, r.value);
    return expression(static_cast<std::uint32_t>(r.value), cfa_);
  }

 private:
  static std::uint64_t extend(std::int32_t v) { return static_cast<std::uint64_t>(std::int64_t{v}); }
  [[nodiscard]] std::uint64_t truncate(std::uint64_t v) const { return pointer_size_ == 4 ? v & 0xffffffffu : v; }
  [[nodiscard]] Result<std::uint64_t> register_plus(unsigned reg, std::int64_t offset) const {
    const auto v = registers_.get(reg);
    if (!v) return fail(ErrorCode::register_unknown, reg);
    return truncate(*v + static_cast<std::uint64_t>(offset));
  }
  [[nodiscard]] Result<std::uint64_t> word(Address address) const {
    std::uint64_t v = 0;
    const bool ok = pointer_size_ == 8
                        ? stack_.word(address, v)
                        : stack_.bytes(address, std::as_writable_bytes(std::span<std::uint64_t, 1>(&v, 1)).first(4));
    if (!ok) return fail(ErrorCode::unreadable_memory, address);
    return v;
  }
  [[nodiscard]] Result<std::uint64_t> expression(std::uint32_t number, std::optional<Address> initial) {
    const auto bytes = rule_.pool == nullptr ? std::span<const std::byte>{} : rule_.pool->expression(number);
    if (bytes.empty()) return fail(ErrorCode::malformed, number);
    return evaluate_expression(bytes, {&registers_, &stack_, rule_.load_bias, initial, initial}, steps_);
  }

  const UnwindRule& rule_;
  const Registers& registers_;
  CodeAddress pc_;
  const StackView& stack_;
  unsigned pointer_size_;
  Address cfa_ = 0;
  unsigned steps_ = kExpressionStepLimit;
};

std::span<const RegisterRule> rules_of(const UnwindRule& rule) {
  return std::span(rule.rules).first(std::min<std::size_t>(rule.count, UnwindRule::kMaxRules));
}

const RegisterRule* find_rule(const UnwindRule& rule, unsigned reg) {
  for (const auto& r : rules_of(rule))
    if (r.reg == reg) return &r;
  return nullptr;
}

/// The return address, without its authentication code. A column without a rule means that the register still holds it.
Result<Address> return_address(const UnwindRule& rule, Evaluator& evaluator, std::uint64_t pac_mask) {
  const RegisterRule* explicit_rule = find_rule(rule, rule.ra_register);
  RegisterRule live;
  live.reg = rule.ra_register;
  const auto ra = evaluator.value(explicit_rule != nullptr ? *explicit_rule : live);
  if (!ra || !rule.ra_is_signed) return ra;
  return *ra & ~pac_mask;
}

bool ends_stack(const UnwindRule& rule) {
  const RegisterRule* ra = find_rule(rule, rule.ra_register);
  return rule.is_end_of_stack || (ra != nullptr && ra->kind == RegisterRuleKind::undefined);
}

}  // namespace

Result<Caller> apply(const UnwindRule& rule, Registers& registers, CodeAddress pc, const StackView& stack,
                     std::uint64_t pac_mask) {
  if (ends_stack(rule)) return Caller{{}, 0, true};
  Evaluator evaluator(rule, registers, pc, stack);
  const auto cfa = evaluator.compute_cfa();
  if (!cfa) return fail(cfa.error());
  evaluator.set_cfa(*cfa);

  const ArchRegisters numbers = arch_registers(registers.arch());
  if (rule.ra_register == numbers.pc && find_rule(rule, rule.ra_register) == nullptr)
    return fail(ErrorCode::register_unknown, rule.ra_register);  // the pc itself would be its own return address
  const auto ra = return_address(rule, evaluator, pac_mask);
  if (!ra) return fail(ra.error());
  // Code interrupted at 0 has called through a null pointer: it has a caller.
  if (*ra == 0 && !rule.is_signal_frame) return Caller{{}, *cfa, true};

  Registers caller = registers;
  caller.keep(arch::cpu(registers.arch()).preserved_with_sp());
  caller.set(numbers.sp, *cfa);
  for (const auto& r : rules_of(rule)) {
    const auto v = evaluator.value(r);
    if (v) {
      caller.set(r.reg, *v);
    } else if (r.reg == numbers.sp) {
      return fail(v.error());
    } else {
      caller.forget(r.reg);
    }
  }
  caller.set(rule.ra_register, *ra);
  caller.set(numbers.pc, *ra);
  registers = caller;
  return Caller{rule.is_signal_frame ? CodeAddress::exact(*ra) : CodeAddress::after_call(*ra), *cfa, false};
}

SavedLocation saved_location(const UnwindRule& rule, unsigned reg, const Registers& registers, CodeAddress pc,
                             const StackView& stack) {
  using Kind = SavedLocation::Kind;
  const RegisterRule* r = find_rule(rule, reg);
  if (r == nullptr) {
    const bool preserved = reg < Registers::kMax && (arch::cpu(registers.arch()).preserved_with_sp() >> reg & 1) != 0;
    return {preserved ? Kind::unchanged : Kind::unknown, 0, 0};
  }
  switch (r->kind) {
    case RegisterRuleKind::same_value:
      return {Kind::unchanged, 0, 0};
    case RegisterRuleKind::undefined:
      return {};
    case RegisterRuleKind::in_register:
      return {Kind::in_register, 0, r->base};
    case RegisterRuleKind::is_cfa_offset:
    case RegisterRuleKind::is_expression:
      return {Kind::computed, 0, 0};
    default:
      break;
  }
  Evaluator evaluator(rule, registers, pc, stack);
  const auto cfa = evaluator.compute_cfa();
  if (!cfa) return {};
  evaluator.set_cfa(*cfa);
  const auto address = evaluator.address(*r);
  return address ? SavedLocation{Kind::memory, *address, 0} : SavedLocation{};
}

}  // namespace mixstack::unwind
