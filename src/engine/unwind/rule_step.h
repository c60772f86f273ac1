// The hot loop: one step from a frame to its caller, module -> table -> row -> registers in one inlined path
// with a cache in front. Used by the mixed walk, by samplers and by the benchmarks alike.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "engine/unwind/apply.h"
#include "engine/unwind/native_modules.h"
#include "engine/unwind/rule_cache.h"
#include "engine/unwind/rule_source.h"
#include "engine/walk_core/caller_check.h"
#include "mixstack/address.h"
#include "mixstack/frame.h"
#include "mixstack/memory_reader.h"
#include "mixstack/registers.h"

namespace mixstack::unwind {

enum class RuleStatus : std::uint8_t {
  caller,        ///< registers are the caller's now
  end_of_stack,  ///< return address undefined or zero; registers unchanged
  no_code,       ///< no module contains the address; registers unchanged
  failed,        ///< RuleStepper::error() says why; registers unchanged
};

struct RuleStep {
  CodeAddress pc;  ///< of the caller
  Address cfa = 0;
  ModuleIndex module = kNoModule;  ///< of the callee, also when the step failed
  RuleStatus status = RuleStatus::failed;
  StepperId found_by = StepperId::none;
};

/// The module of a place's code, and the kind of its rule.
struct CodePlace {
  ModuleIndex module = kNoModule;
  CompactKind kind = CompactKind::none;  ///< outside of all modules: `none` if the bound source knows no method there
};

/// The registers of a light walk. The order of the members keeps GCC 12 from packing sp and fp into one vector
/// register, which doubles the time of a step.
struct LightFrame {
  /// Stands for an unknown frame pointer: no stack lies there, so that a rule based on it leaves the fast path (and
  /// fails with register_unknown).
  static constexpr Address kUnknownFp = Address{1} << 63;

  CodeAddress pc;
  alignas(16) Address sp = 0;
  alignas(16) Address fp = kUnknownFp;
  alignas(16) Address lr = 0;  ///< AArch64: matters in the innermost frame and behind a signal frame

  [[nodiscard]] static LightFrame innermost(const Registers& registers) {
    LightFrame frame;
    frame.pc = CodeAddress::exact(registers.pc());
    frame.take(registers);
    return frame;
  }
  /// All but the pc.
  void take(const Registers& registers) {
    const arch::Cpu& cpu = arch::cpu(registers.arch());
    sp = registers.sp();
    fp = registers.is_known(cpu.registers.fp) ? registers.fp() : kUnknownFp;
    lr = cpu.has_link_register() ? registers.value_or_zero(cpu.link_register) : 0;
  }
  [[nodiscard]] Registers registers(Arch arch) const {
    const arch::Cpu& cpu = arch::cpu(arch);
    Registers known(arch);
    known.set_pc(pc.raw());
    known.set_sp(sp);
    if (fp != kUnknownFp) known.set_fp(fp);
    if (cpu.has_link_register()) known.set(cpu.link_register, lr);
    return known;
  }
};

/// Steps through the native frames of one target's threads by CFI. Owns its rule cache: one stepper per walking thread
/// (4 to 130 KiB); tables are shared between steppers. Two modes: `step` carries all preserved registers (and marks
/// what is not known), `step_light` only sp, pc and the frame pointer. Rules based on another register than those two
/// fail in light mode with `register_unknown`: walk again in full mode.
class RuleStepper {
 public:
  explicit RuleStepper(Arch arch, std::uint64_t pac_mask = 0) : arch_(arch), pac_mask_(pac_mask) {}

  /// Replaces the modules and forgets everything cached.
  void set_modules(NativeModules modules);
  [[nodiscard]] const NativeModules& modules() const { return modules_; }
  [[nodiscard]] Arch arch() const { return arch_; }
  /// Sets the source of rules for code outside of all modules; null: none. Call before steps from such code: costs two
  /// comparisons if nothing changed, else forgets the answers of another source or an earlier generation.
  void bind(RuleSource* source) {
    const std::uint64_t generation = source == nullptr ? 0 : source->generation();
    if (source != source_ || generation != generation_) rebind(source, generation);
  }
  /// The same without a comparison: call at the start of a capture, when sources may have been replaced.
  void unbind() { rebind(nullptr, 0); }
  void set_pac_mask(std::uint64_t mask) { pac_mask_ = mask; }
  void clear_cache();

  /// Steps from the frame at `pc` with `registers` to its caller, in place. `stack` is only read.
  [[nodiscard]] RuleStep step(CodeAddress pc, Registers& registers, const StackView& stack) {
    return arch::dispatch(arch_, RuleStep{}, [&]<Arch A>() { return step_full<A, true>(pc, registers, stack); });
  }
  [[nodiscard]] RuleStep step_light(LightFrame& frame, const StackView& stack) {
    return arch::dispatch(arch_, RuleStep{}, [&]<Arch A>() { return light<A, true>(frame, stack); });
  }
  /// For a CPU known at compile time, and for measuring without the cache.
  template <Arch A, bool kCached>
  [[nodiscard]] RuleStep step_full(CodeAddress pc, Registers& registers, const StackView& stack);
  template <Arch A, bool kCached>
  [[nodiscard]] RuleStep light(LightFrame& frame, const StackView& stack);

  /// The module around the code; kNoModule: none. A step from there finds its rule in the cache then.
  [[nodiscard]] ModuleIndex module_of(CodeAddress pc) {
    RuleSlot local;
    return arch::dispatch(arch_, kNoModule, [&]<Arch A>() { return find<A, true>(pc, local).module; });
  }
  template <Arch A>
  [[nodiscard]] CodePlace place(CodeAddress pc) {
    RuleSlot local;
    const RuleSlot& slot = find<A, true>(pc, local);
    return {slot.module, slot.rule->kind};
  }
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
  /// The byte of a stack at an address that was checked to lie in it.
  static const std::byte* at(const StackView& stack, Address address) {
    return reinterpret_cast<const std::byte*>(address + (reinterpret_cast<Address>(stack.data) - stack.base));
  }
  /// The same value, which the compiler cannot tell: two sums with it are not shared, so that the next return address
  /// is loaded from base plus index instead of waiting for an addition first.
  static Address opaque(Address value) {
    asm("" : "+r"(value));
    return value;
  }
  /// A saved register, or its present value where the slot is 0. Loads in any case and selects: which registers a
  /// function saves is as good as random, and a mispredicted branch costs more than the load.
  static std::uint64_t saved_or(std::uint16_t slot, const std::byte* top, std::uint64_t present) {
    std::uint64_t saved = load(top - slot);
    asm("" : "+r"(saved));  // no code: makes the load happen before the choice, so that the choice needs no branch
    return slot != 0 ? saved : present;
  }
  static Address cfa_of(const RuleSlot& slot, Address sp, Address fp) {
    Address base = (slot.kind & slot_kind::kByFp) != 0 ? fp : sp;
    return base + static_cast<Address>(std::int64_t{slot.cfa_offset});
  }
  /// The frames above will be read next; by two frames of usual size ahead, memory has time to answer.
  static void prefetch_above(const std::byte* top) { __builtin_prefetch(top + 192); }
  /// Whether [cfa - depth, cfa + 8) lies in the stack: everything a plain slot can make us load.
  static bool holds(const StackView& stack, Address cfa, std::uint16_t depth) {
    const Address offset = cfa - stack.base;
    const std::size_t limit = stack.size >= 8 ? stack.size - 8 : 0;
    return offset <= limit && offset >= depth;
  }
  template <Arch A>
  RuleSlot& fill(RuleSlot& slot, CodeAddress pc);
  template <Arch A, bool kCached>
  [[nodiscard]] const RuleSlot& find(CodeAddress pc, RuleSlot& local) {
    if constexpr (kCached) {
      const Address raw = pc.raw();
      if (pc.is_exact()) [[unlikely]]
        return find_exact(raw);
      const RuleSlot& slot = cache_.slot<A>(raw);
      return slot.key == raw ? slot : refill(raw);
    } else {
      fill<A>(local, pc);
      return local;
    }
  }
  /// Registers a function need not preserve. Written out at compile time: an index that varies would keep the registers
  /// in memory throughout.
  template <Arch A, std::size_t... I>
  static void zero_volatile(Registers& registers, std::index_sequence<I...>) {
    ((arch::cpu(A).preserved_with_sp() >> I & 1 ? void() : registers.store(I, 0)), ...);
  }
  static RuleStep end_of_stack(const RuleSlot& slot) {
    return {{}, 0, slot.module, RuleStatus::end_of_stack, slot.rule->origin};
  }
  /// Apart, so that steps from return addresses need not compute the key.
  [[nodiscard]] const RuleSlot& find_exact(Address pc);
  [[nodiscard]] const RuleSlot& refill(Address return_address);
  [[nodiscard]] const RuleSlot& replace(CodeAddress pc);
  /// walk::advances, but that what is rare where calls push the return address goes the slow way.
  template <Arch A>
  static bool advances(Address cfa, Address sp, bool is_exact) {
    if constexpr (arch::cpu(A).has_link_register()) return walk::advances(sp, cfa, is_exact, A, true);
    return cfa > sp;
  }

  [[nodiscard]] RuleStep slow_step(const RuleSlot& slot, CodeAddress pc, Registers& registers, const StackView& stack);
  [[nodiscard]] RuleStep slow_light(const RuleSlot& slot, LightFrame& frame, const StackView& stack);
  [[nodiscard]] Result<UnwindRule> general_rule(const RuleSlot& slot, CodeAddress pc);

  void rebind(RuleSource* source, std::uint64_t generation);

  NativeModules modules_;
  RuleCache cache_;
  RuleSource* source_ = nullptr;
  std::uint64_t generation_ = 0;
  bool has_outside_ = false;
  Arch arch_;
  std::uint64_t pac_mask_;
  Error error_;
  std::unique_ptr<Interpreted[]> interpreted_;
};

template <Arch A>
inline RuleSlot& RuleStepper::fill(RuleSlot& slot, CodeAddress pc) {
  const Address address = pc.lookup();
  const NativeModule* module = modules_.find(address);
  if (module == nullptr) {
    has_outside_ = true;
    slot.assign<A>(RuleCache::key_of(pc), source_ != nullptr ? source_->compact(pc) : kNoCompactRule, kNoModule);
    return slot;
  }
  const UnwindTable* table = modules_.table(*module);
  const CompactRule& rule = table != nullptr ? table->find(address - module->load_bias) : kNoCompactRule;
  slot.assign<A>(RuleCache::key_of(pc), rule, module->index);
  return slot;
}

// Both loops are written so that what one step waits for of the one before is short: return address -> slot -> CFA ->
// return address. Everything else (checks, the other registers) runs beside it. Slow paths get copies, so that the
// compiler may keep the caller's state in registers.

template <Arch A, bool kCached>
inline RuleStep RuleStepper::step_full(CodeAddress pc, Registers& registers, const StackView& stack) {
  using arch::bit;
  constexpr const CompactLayout& kLayout = kCompactLayouts[A];
  constexpr ArchRegisters kNumbers = arch::cpu(A).registers;
  constexpr std::uint64_t kPreserved = arch::cpu(A).preserved_with_sp();
  const auto slow = [&](const RuleSlot& slot) {
    if ((slot.kind & slot_kind::kEnd) != 0) return end_of_stack(slot);
    Registers copy = registers;
    const StackView view = stack;
    const RuleStep result = slow_step(slot, pc, copy, view);
    registers = copy;
    return result;
  };

  RuleSlot local;
  const RuleSlot& slot = find<A, kCached>(pc, local);
  const std::uint64_t known = registers.known();
  // kByFp is the lowest bit, as is the one shifted out of the known registers.
  if ((slot.kind & (slot_kind::kNotPlain | (~known >> kNumbers.fp & 1))) != 0) [[unlikely]]
    return slow(slot);
  const Address sp = registers.data()[kNumbers.sp];
  const Address cfa = cfa_of(slot, sp, registers.data()[kNumbers.fp]);
  if (!holds(stack, cfa, slot.depth) || !advances<A>(cfa, sp, pc.is_exact())) [[unlikely]]
    return slow(slot);

  const std::byte* top = at(stack, cfa);
  const Address host = opaque(reinterpret_cast<Address>(stack.data) - stack.base);
  prefetch_above(top);
  Address ra = 0;
  if constexpr (!arch::cpu(A).has_link_register()) {
    ra = load(reinterpret_cast<const std::byte*>(host + cfa - kCompactLayouts[A].pushed_ra));
  } else {
    ra = slot.ra_slot != 0 ? load(top - slot.ra_slot) : registers.data()[kLayout.ra_column];
    if ((slot.kind & slot_kind::kSigned) != 0) ra &= ~pac_mask_;
  }
  if (ra == 0) [[unlikely]]
    return slow(slot);

  if ((known & ~(kPreserved | bit(kNumbers.pc) | bit(kLayout.ra_column))) != 0) [[unlikely]]
    zero_volatile<A>(registers, std::make_index_sequence<kNumbers.count>());
  const CompactRule& rule = *slot.rule;
  for (std::size_t i = 0; i < kLayout.ra; i++) {
    const unsigned reg = kLayout.preserved[i];
    registers.store(reg, saved_or(rule.slots[i], top, registers.data()[reg]));
  }
  registers.store(kNumbers.sp, cfa);
  registers.store(kNumbers.pc, ra);
  registers.store(kLayout.ra_column, ra);
  registers.set_known((known & kPreserved) | rule.saved | bit(kNumbers.sp) | bit(kNumbers.pc) | bit(kLayout.ra_column));
  return {CodeAddress::after_call(ra), cfa, slot.module, RuleStatus::caller, rule.origin};
}

template <Arch A, bool kCached>
inline RuleStep RuleStepper::light(LightFrame& frame, const StackView& stack) {
  const auto slow = [&](const RuleSlot& slot) {
    if ((slot.kind & slot_kind::kEnd) != 0) return end_of_stack(slot);
    LightFrame copy = frame;
    const StackView view = stack;
    const RuleStep result = slow_light(slot, copy, view);
    frame = copy;
    return result;
  };
  RuleSlot local;
  const RuleSlot& slot = find<A, kCached>(frame.pc, local);
  if ((slot.kind & slot_kind::kNotPlain) != 0) [[unlikely]]
    return slow(slot);
  const Address cfa = cfa_of(slot, frame.sp, frame.fp);
  if (!holds(stack, cfa, slot.depth) || !advances<A>(cfa, frame.sp, frame.pc.is_exact())) [[unlikely]]
    return slow(slot);

  const std::byte* top = at(stack, cfa);
  const Address host = opaque(reinterpret_cast<Address>(stack.data) - stack.base);
  prefetch_above(top);
  Address ra = 0;
  if constexpr (!arch::cpu(A).has_link_register()) {
    ra = load(reinterpret_cast<const std::byte*>(host + cfa - kCompactLayouts[A].pushed_ra));
  } else {
    ra = slot.ra_slot != 0 ? load(top - slot.ra_slot) : frame.lr;
    if ((slot.kind & slot_kind::kSigned) != 0) ra &= ~pac_mask_;
  }
  if (ra == 0) [[unlikely]]
    return slow(slot);
  frame.fp = saved_or(slot.fp_slot, top, frame.fp);
  frame.sp = cfa;
  frame.lr = ra;
  frame.pc = CodeAddress::after_call(ra);
  // Not `frame.pc`: where that lies in memory, to load what was just stored in two pieces takes longer than the step.
  return {CodeAddress::after_call(ra), cfa, slot.module, RuleStatus::caller, slot.rule->origin};
}

}  // namespace mixstack::unwind
