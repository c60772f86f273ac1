// The current row of call frame information in compact form, shared by the table compiler (all rows of a function) and
// the look-up of one row without allocation (compact_row.h).
#pragma once

#include <cstddef>
#include <limits>

#include "engine/unwind/cfi_compiler.h"
#include "engine/unwind/cfi_interpreter.h"
#include "engine/unwind/expression.h"

namespace mixstack::unwind {

/// The part of a state behind CfiDecoder (cfi_program.h) that knows rows but not locations. `Remembered` is a bounded
/// stack of states: push(state) answers false when full, pop(state) false when empty.
template <class Remembered>
class CompactRowState {
 public:
  using State = CfiCompiler::State;
  CompactRowState(const CfiSection& section, const State& initial, Remembered remembered)
      : section_(section),
        layout_(kCompactLayouts[section.arch]),
        count_(arch_registers(section.arch).count),
        initial_(initial),
        state_(initial),
        remembered_(remembered) {}

  [[nodiscard]] const State& state() const { return state_; }

  void def_cfa(std::uint64_t reg, std::int64_t offset) {
    state_.rule.kind = CompactKind::register_offset;
    state_.rule.cfa_register = static_cast<std::uint8_t>(reg);
    state_.cfa_is_odd = reg >= Registers::kMax;
    set_cfa_offset(offset);
  }
  void def_cfa_register(std::uint64_t reg) {
    state_.rule.cfa_register = static_cast<std::uint8_t>(reg);
    if (reg >= Registers::kMax || state_.rule.kind != CompactKind::register_offset) state_.cfa_is_odd = true;
  }
  void def_cfa_offset(std::int64_t offset) {
    if (state_.rule.kind != CompactKind::register_offset) state_.cfa_is_odd = true;
    set_cfa_offset(offset);
  }
  void def_cfa_expression(std::uint64_t block) {
    const auto pattern = match_expression(section_.arch, read_block(section_, block));
    state_.cfa_is_odd = pattern.kind != ExpressionPattern::Kind::plt;
    state_.rule.kind = CompactKind::plt;
    state_.rule.cfa_register = pattern.reg;
    state_.rule.plt_step = pattern.plt_step;
    set_cfa_offset(pattern.offset);
  }
  void offset(std::uint64_t reg, std::int64_t n) {
    if (reg >= count_) return;
    const int slot = layout_.slot_of[reg];
    const std::int64_t depth = -n;
    if (slot < 0 || depth < 8 || depth > std::numeric_limits<std::uint16_t>::max()) return set_odd(reg);
    state_.rule.slots[static_cast<std::size_t>(slot)] = static_cast<std::uint16_t>(depth);
    state_.odd &= ~(std::uint64_t{1} << reg);
    if (static_cast<unsigned>(slot) == layout_.ra) state_.ra_undefined = false;
  }
  void value_offset(std::uint64_t reg, std::int64_t) { set_odd(reg); }
  void in_register(std::uint64_t reg, std::uint64_t) { set_odd(reg); }
  void expression(std::uint64_t reg, std::uint64_t) { set_odd(reg); }
  void value_expression(std::uint64_t reg, std::uint64_t) { set_odd(reg); }
  void undefined(std::uint64_t reg) {
    if (reg == layout_.ra_column) {
      state_.ra_undefined = true;
      state_.odd &= ~(std::uint64_t{1} << reg);
    } else if (reg < count_ && layout_.slot_of[reg] < 0 && !is_sp(reg)) {
      state_.odd &= ~(std::uint64_t{1} << reg);  // not preserved anyway
    } else {
      set_odd(reg);
    }
  }
  void same_value(std::uint64_t reg) { set_odd(reg); }
  void restore(std::uint64_t reg) {
    if (reg >= count_) return;
    const std::uint64_t bit = std::uint64_t{1} << reg;
    state_.odd = (state_.odd & ~bit) | (initial_.odd & bit);
    if (reg == layout_.ra_column) state_.ra_undefined = initial_.ra_undefined;
    if (layout_.slot_of[reg] < 0) return;
    const auto slot = static_cast<std::size_t>(layout_.slot_of[reg]);
    state_.rule.slots[slot] = initial_.rule.slots[slot];
  }
  bool remember() { return remembered_.push(state_); }
  bool restore_state() { return remembered_.pop(state_); }
  void toggle_ra_state() { state_.rule.flags ^= CompactRule::kRaSigned; }
  void set_ra_state(bool is_signed) { state_.rule.flags = is_signed ? CompactRule::kRaSigned : 0; }

 protected:
  [[nodiscard]] CompactRule current() const {
    CompactRule rule;
    if (state_.odd != 0 || state_.cfa_is_odd) {
      rule.kind = CompactKind::interpret;
      return rule;
    }
    rule = state_.rule;
    if (state_.ra_undefined) {
      rule.kind = CompactKind::end_of_stack;
      rule.slots[layout_.ra] = 0;
    } else if (layout_.pushed_ra != 0 && rule.slots[layout_.ra] != layout_.pushed_ra) {
      rule = {};
      rule.kind = CompactKind::interpret;
    }
    return rule;
  }

  void spoil() { state_.odd = 1; }

 private:
  [[nodiscard]] bool is_sp(std::uint64_t reg) const { return reg == arch_registers(section_.arch).sp; }
  void set_cfa_offset(std::int64_t offset) {
    state_.rule.cfa_offset = static_cast<std::int32_t>(offset);
    if (state_.rule.cfa_offset != offset) state_.cfa_is_odd = true;
  }
  void set_odd(std::uint64_t reg) {
    if (reg < count_) state_.odd |= std::uint64_t{1} << reg;
  }

  const CfiSection& section_;
  const CompactLayout& layout_;
  unsigned count_;
  const State& initial_;
  State state_;
  Remembered remembered_;
};

/// The state that the instructions of `cie` leave behind: the first row of each of its functions.
template <class Row>
[[nodiscard]] CfiCompiler::State settle_initial(const CfiSection& section, const Cie& cie, ErrorCode error, Row& row) {
  CfiCompiler::State initial = row.state();
  const arch::Cpu& cpu = arch::cpu(section.arch);
  const bool is_plain = error == ErrorCode::none && !row.is_bad() && cie.ra_register == cpu.ra_column &&
                        !cie.is_signal_frame && cie.address_size == 8 && cpu.is_walked;
  if (!is_plain) initial.odd |= std::uint64_t{1} << 63;  // no register: stays odd whatever the FDE does
  return initial;
}

}  // namespace mixstack::unwind
