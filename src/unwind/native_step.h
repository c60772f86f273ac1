// The hot loop: one step from a native frame to its caller, module -> table -> row -> registers in one inlined path
// with a cache in front. Used by the mixed walk, by samplers and by the benchmarks alike.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "mixstack/address.h"
#include "mixstack/frame.h"
#include "mixstack/memory_reader.h"
#include "mixstack/registers.h"
#include "unwind/apply.h"
#include "unwind/native_modules.h"
#include "unwind/rule_cache.h"

namespace mixstack::unwind {

enum class StepStatus : std::uint8_t {
  caller,        ///< registers are the caller's now
  end_of_stack,  ///< return address undefined or zero; registers unchanged
  not_native,    ///< no module contains the address; registers unchanged
  failed,        ///< NativeStepper::error() says why; registers unchanged
};

struct NativeStep {
  CodeAddress pc;  ///< of the caller
  Address cfa = 0;
  ModuleIndex module = kNoModule;  ///< of the callee, also when the step failed
  StepStatus status = StepStatus::failed;
  StepperId found_by = StepperId::none;
};

/// The registers of a light walk.
struct LightFrame {
  CodeAddress pc;
  Address sp = 0, fp = 0;
  Address lr = 0;        ///< AArch64: matters in the innermost frame and behind a signal frame
  bool fp_known = true;  ///< a rule based on an unknown frame pointer fails with register_unknown

  [[nodiscard]] static LightFrame innermost(const Registers& registers) {
    const bool fp_known = registers.is_known(arch_registers(registers.arch()).fp);
    const Address lr = registers.arch() == Arch::aarch64 ? registers.value_or_zero(aarch64_reg::lr) : 0;
    return {CodeAddress::exact(registers.pc()), registers.sp(), registers.fp(), lr, fp_known};
  }
};

/// Steps through the native frames of one target's threads by CFI. Owns its rule cache: one stepper per walking thread
/// (about 130 KiB); tables are shared between steppers. Two modes: `step` carries all preserved registers (and marks
/// what is not known), `step_light` only sp, pc and the frame pointer. Rules based on another register than those two
/// fail in light mode with `register_unknown`: walk again in full mode.
class NativeStepper {
 public:
  explicit NativeStepper(Arch arch, std::uint64_t pac_mask = 0) : arch_(arch), pac_mask_(pac_mask) {}

  /// Replaces the modules and forgets everything cached.
  void set_modules(NativeModules modules);
  [[nodiscard]] const NativeModules& modules() const { return modules_; }
  [[nodiscard]] Arch arch() const { return arch_; }
  void set_pac_mask(std::uint64_t mask) { pac_mask_ = mask; }
  void clear_cache();

  /// From the frame at `pc` with `registers` to its caller, in place. `stack` is only read.
  [[nodiscard]] NativeStep step(CodeAddress pc, Registers& registers, const StackView& stack) {
    return arch_ == Arch::aarch64 ? step_full<Arch::aarch64, true>(pc, registers, stack)
                                  : step_full<Arch::x86_64, true>(pc, registers, stack);
  }
  [[nodiscard]] NativeStep step_light(LightFrame& frame, const StackView& stack) {
    return arch_ == Arch::aarch64 ? light<Arch::aarch64, true>(frame, stack) : light<Arch::x86_64, true>(frame, stack);
  }
  /// For CPUs known at compile time, and for measuring without the cache.
  template <Arch A, bool kCached>
  [[nodiscard]] NativeStep step_full(CodeAddress pc, Registers& registers, const StackView& stack);
  template <Arch A, bool kCached>
  [[nodiscard]] NativeStep light(LightFrame& frame, const StackView& stack);

  /// The module around the code, or null. The same answer a step gives, without the cache.
  [[nodiscard]] const NativeModule* module_at(CodeAddress pc) const { return modules_.find(pc.lookup()); }
  /// The rule that a step at `pc` executes, for --explain and saved-register locations. Errors as UnwindTable::rule,
  /// or `not_found` where no module is.
  [[nodiscard]] Result<UnwindRule> rule_at(CodeAddress pc) const;
  /// Why the last step had status `failed`: no_unwind_info, register_unknown, unreadable_memory, stack_not_advancing,
  /// or what is wrong with the CFI or an expression.
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  static constexpr std::size_t kInterpretedSlots = 64;
  struct Interpreted {
    Address key = ~Address{0};
    UnwindRule rule;
  };

  static std::uint64_t load(const std::byte* from) {
    std::uint64_t v;
    std::memcpy(&v, from, sizeof(v));
    return v;
  }
  template <Arch A>
  void fill(RuleSlot& slot, Address key);
  template <Arch A, bool kCached>
  [[nodiscard]] const RuleSlot& find(Address key, RuleSlot& local) {
    if constexpr (kCached) {
      RuleSlot& slot = cache_.slot(key);
      if (slot.key != key) [[unlikely]]
        fill<A>(slot, key);
      return slot;
    } else {
      fill<A>(local, key);
      return local;
    }
  }
  /// A step within the same function of the same sp is possible once, in an innermost frame that has no frame yet.
  template <Arch A>
  static bool advances(Address cfa, Address sp, bool is_exact) {
    if constexpr (A == Arch::aarch64) return cfa > sp || (cfa == sp && is_exact);
    return cfa > sp;
  }

  [[nodiscard]] NativeStep slow_step(const RuleSlot& slot, CodeAddress pc, Registers& registers,
                                     const StackView& stack);
  [[nodiscard]] NativeStep slow_light(const RuleSlot& slot, LightFrame& frame, const StackView& stack);
  [[nodiscard]] Result<UnwindRule> general_rule(const RuleSlot& slot, CodeAddress pc);

  NativeModules modules_;
  RuleCache cache_;
  Arch arch_;
  std::uint64_t pac_mask_;
  Error error_;
  std::unique_ptr<Interpreted[]> interpreted_;
};

template <Arch A>
inline void NativeStepper::fill(RuleSlot& slot, Address key) {
  static constexpr CompactRule kNothing{};
  const NativeModule* module = modules_.find(key);
  const UnwindTable* table = module != nullptr ? modules_.table(*module) : nullptr;
  const CompactRule& rule = table != nullptr ? table->find(key - module->load_bias) : kNothing;
  slot.assign<A>(key, rule, module != nullptr ? module->index : kNoModule);
}

template <Arch A, bool kCached>
inline NativeStep NativeStepper::step_full(CodeAddress pc, Registers& registers, const StackView& stack) {
  using Layout = CompactLayout<A>;
  constexpr ArchRegisters kNumbers = arch_registers(A);
  constexpr std::uint64_t kPreserved = callee_saved_registers(A);
  constexpr auto bit = [](unsigned reg) { return std::uint64_t{1} << reg; };

  RuleSlot local;
  const RuleSlot& slot = find<A, kCached>(pc.lookup(), local);
  const std::uint64_t known = registers.known();
  if (slot.kind == SlotKind::other || (known >> slot.cfa_register & 1) == 0) [[unlikely]]
    return slow_step(slot, pc, registers, stack);
  const Address cfa = registers.data()[slot.cfa_register] + static_cast<Address>(std::int64_t{slot.cfa_offset});
  const Address offset = cfa - stack.base;
  if (offset > stack.size || offset < slot.depth * 8u ||
      !advances<A>(cfa, registers.data()[kNumbers.sp], pc.is_exact())) [[unlikely]]
    return slow_step(slot, pc, registers, stack);

  const std::byte* top = stack.data + offset;
  Address ra = 0;
  if constexpr (A == Arch::x86_64) {
    ra = load(top - 8);
  } else {
    ra = slot.ra_slot != 0 ? load(top - 8 * slot.ra_slot) : registers.data()[Layout::kRaColumn];
    if (slot.ra_slot == 0 && !registers.is_known(Layout::kRaColumn)) ra = 0;
    if (slot.kind == SlotKind::plain_signed) ra &= ~pac_mask_;
  }
  if (ra == 0) [[unlikely]]
    return slow_step(slot, pc, registers, stack);

  const CompactRule& rule = *slot.rule;
  if ((known & ~(kPreserved | bit(kNumbers.pc) | bit(Layout::kRaColumn))) != 0) [[unlikely]]
    registers.keep(kPreserved);
  for (std::size_t i = 0; i < Layout::kPreserved.size(); i++) {
    // Without branches: a register that is not saved is loaded from its own place.
    const auto* own = reinterpret_cast<const std::byte*>(registers.data() + Layout::kPreserved[i]);
    registers.store(Layout::kPreserved[i], load(rule.slots[i] != 0 ? top - 8 * rule.slots[i] : own));
  }
  registers.store(kNumbers.sp, cfa);
  registers.store(kNumbers.pc, ra);
  registers.store(Layout::kRaColumn, ra);
  registers.set_known((known & kPreserved) | rule.saved | bit(kNumbers.sp) | bit(kNumbers.pc) | bit(Layout::kRaColumn));
  return {CodeAddress::after_call(ra), cfa, slot.module, StepStatus::caller, rule.origin};
}

template <Arch A, bool kCached>
inline NativeStep NativeStepper::light(LightFrame& frame, const StackView& stack) {
  constexpr ArchRegisters kNumbers = arch_registers(A);
  RuleSlot local;
  const RuleSlot& slot = find<A, kCached>(frame.pc.lookup(), local);
  const bool by_fp = slot.cfa_register == kNumbers.fp;
  if (slot.kind == SlotKind::other || (by_fp ? !frame.fp_known : slot.cfa_register != kNumbers.sp)) [[unlikely]]
    return slow_light(slot, frame, stack);
  const Address cfa = (by_fp ? frame.fp : frame.sp) + static_cast<Address>(std::int64_t{slot.cfa_offset});
  const Address offset = cfa - stack.base;
  if (offset > stack.size || offset < slot.depth * 8u || !advances<A>(cfa, frame.sp, frame.pc.is_exact())) [[unlikely]]
    return slow_light(slot, frame, stack);

  const std::byte* top = stack.data + offset;
  Address ra = 0;
  if constexpr (A == Arch::x86_64) {
    ra = load(top - 8);
  } else {
    ra = slot.ra_slot != 0 ? load(top - 8 * slot.ra_slot) : frame.lr;
    if (slot.kind == SlotKind::plain_signed) ra &= ~pac_mask_;
  }
  if (ra == 0) [[unlikely]]
    return slow_light(slot, frame, stack);
  frame.fp = load(slot.fp_slot != 0 ? top - 8 * slot.fp_slot : reinterpret_cast<const std::byte*>(&frame.fp));
  frame.fp_known |= slot.fp_slot != 0;
  frame.sp = cfa;
  frame.lr = ra;
  frame.pc = CodeAddress::after_call(ra);
  return {frame.pc, cfa, slot.module, StepStatus::caller, slot.rule->origin};
}

}  // namespace mixstack::unwind
