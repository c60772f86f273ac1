#include "unwind/cfi_compiler.h"

#include <limits>

#include "unwind/cfi_interpreter.h"
#include "unwind/cfi_program.h"
#include "unwind/expression.h"

namespace mixstack::unwind {
namespace {

constexpr std::size_t kRememberLimit = 64;  // as the interpreter's

/// Register number to slot, once per CPU: -1 where the register has none.
template <Arch A>
constexpr std::array<std::int8_t, Registers::kMax> make_slots() {
  std::array<std::int8_t, Registers::kMax> map{};
  for (unsigned reg = 0; reg < map.size(); reg++) map[reg] = static_cast<std::int8_t>(compact_slot(A, reg));
  return map;
}
constexpr auto kSlotsX86 = make_slots<Arch::x86_64>();
constexpr auto kSlotsArm = make_slots<Arch::aarch64>();

/// The state behind CfiDecoder that writes compact rows.
class Emitter {
 public:
  using State = CfiCompiler::State;
  Emitter(const CfiSection& section, const State& initial, const Fde* fde, std::vector<CompiledRow>& rows,
          std::vector<State>& remembered)
      : section_(section),
        slots_(section.arch == Arch::aarch64 ? kSlotsArm : kSlotsX86),
        count_(arch_registers(section.arch).count),
        ra_(section.arch == Arch::aarch64 ? CompactLayout<Arch::aarch64>::kRa : CompactLayout<Arch::x86_64>::kRa),
        ra_column_(section.arch == Arch::aarch64 ? CompactLayout<Arch::aarch64>::kRaColumn
                                                 : CompactLayout<Arch::x86_64>::kRaColumn),
        initial_(initial),
        state_(initial),
        fde_(fde),
        location_(fde != nullptr ? fde->pc_begin : 0),
        rows_(rows),
        remembered_(remembered) {
    remembered_.clear();
  }

  [[nodiscard]] const State& state() const { return state_; }
  [[nodiscard]] bool is_bad() const { return bad_; }

  bool advance(std::uint64_t delta) { return set_location(location_ + delta); }
  bool set_location(std::uint64_t address) {
    if (fde_ == nullptr || address < location_) {
      bad_ = true;
      return false;
    }
    if (address == location_) return true;
    emit();
    location_ = address;
    return location_ < fde_->pc_end;
  }
  /// The row from the current location to the end, or a mark that nothing is known from here on.
  void finish(bool is_valid) {
    if (location_ >= fde_->pc_end && !bad_) return;
    if (is_valid && !bad_) return emit();
    state_.odd = 1;
    emit();
  }

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
    const auto pattern = match_expression(read_block(section_, block));
    state_.cfa_is_odd = pattern.kind != ExpressionPattern::Kind::plt || section_.arch != Arch::x86_64;
    state_.rule.kind = CompactKind::plt;
    state_.rule.cfa_register = pattern.reg;
    state_.rule.plt_step = pattern.plt_step;
    set_cfa_offset(pattern.offset);
  }
  void offset(std::uint64_t reg, std::int64_t n) {
    if (reg >= count_) return;
    const int slot = slots_[reg];
    const std::int64_t depth = -n;
    if (slot < 0 || depth < 8 || depth > std::numeric_limits<std::uint16_t>::max()) return set_odd(reg);
    state_.rule.slots[static_cast<std::size_t>(slot)] = static_cast<std::uint16_t>(depth);
    state_.odd &= ~(std::uint64_t{1} << reg);
    if (static_cast<unsigned>(slot) == ra_) state_.ra_undefined = false;
  }
  void value_offset(std::uint64_t reg, std::int64_t) { set_odd(reg); }
  void in_register(std::uint64_t reg, std::uint64_t) { set_odd(reg); }
  void expression(std::uint64_t reg, std::uint64_t) { set_odd(reg); }
  void value_expression(std::uint64_t reg, std::uint64_t) { set_odd(reg); }
  void undefined(std::uint64_t reg) {
    if (reg == ra_column_) {
      state_.ra_undefined = true;
      state_.odd &= ~(std::uint64_t{1} << reg);
    } else if (reg < count_ && slots_[reg] < 0 && !is_sp(reg)) {
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
    if (reg == ra_column_) state_.ra_undefined = initial_.ra_undefined;
    if (slots_[reg] < 0) return;
    const auto slot = static_cast<std::size_t>(slots_[reg]);
    state_.rule.slots[slot] = initial_.rule.slots[slot];
  }
  bool remember() {
    if (remembered_.size() >= kRememberLimit) return false;
    remembered_.push_back(state_);
    return true;
  }
  bool restore_state() {
    if (remembered_.empty()) return false;
    state_ = remembered_.back();
    remembered_.pop_back();
    return true;
  }
  void toggle_ra_state() { state_.rule.flags ^= CompactRule::kRaSigned; }
  void set_ra_state(bool is_signed) { state_.rule.flags = is_signed ? CompactRule::kRaSigned : 0; }

 private:
  [[nodiscard]] bool is_sp(std::uint64_t reg) const { return reg == arch_registers(section_.arch).sp; }
  void set_cfa_offset(std::int64_t offset) {
    state_.rule.cfa_offset = static_cast<std::int32_t>(offset);
    if (state_.rule.cfa_offset != offset) state_.cfa_is_odd = true;
  }
  void set_odd(std::uint64_t reg) {
    if (reg < count_) state_.odd |= std::uint64_t{1} << reg;
  }

  [[nodiscard]] CompactRule current() const {
    CompactRule rule;
    if (state_.odd != 0 || state_.cfa_is_odd) {
      rule.kind = CompactKind::interpret;
      return rule;
    }
    rule = state_.rule;
    if (state_.ra_undefined) {
      rule.kind = CompactKind::end_of_stack;
      rule.slots[ra_] = 0;
    } else if (section_.arch == Arch::x86_64 && rule.slots[ra_] != 8) {
      rule = {};
      rule.kind = CompactKind::interpret;
    }
    return rule;
  }
  void emit() {
    const std::uint64_t offset = location_ - fde_->pc_begin;
    if (offset > std::numeric_limits<std::uint32_t>::max()) return;
    const CompactRule rule = current();
    if (!rows_.empty() && rows_.back().rule.same_rule(rule)) return;
    rows_.push_back({static_cast<std::uint32_t>(offset), rule});
  }

  const CfiSection& section_;
  const std::array<std::int8_t, Registers::kMax>& slots_;
  unsigned count_;
  unsigned ra_;
  unsigned ra_column_;
  const State& initial_;
  State state_;
  const Fde* fde_;
  std::uint64_t location_;
  std::vector<CompiledRow>& rows_;
  std::vector<State>& remembered_;
  bool bad_ = false;
};

}  // namespace

Result<const CfiCompiler::CachedCie*> CfiCompiler::cie_at(std::uint64_t offset) {
  CachedCie& cached = cies_[offset / 8 % cies_.size()];
  if (cached.valid && cached.cie.offset == offset) return &cached;
  cached.valid = false;
  const auto cie = read_cie(section_, offset);
  if (!cie) return fail(cie.error());
  cached.cie = *cie;
  cached.initial = {};
  Emitter emitter(section_, cached.initial, nullptr, rows_, remembered_);
  CfiDecoder decoder(section_, cached.cie, 0, emitter);
  const ErrorCode error = decoder.run(cie->instructions_begin, cie->instructions_end);
  cached.initial = emitter.state();
  const bool x86 = section_.arch == Arch::x86_64;
  const unsigned column = x86 ? CompactLayout<Arch::x86_64>::kRaColumn : CompactLayout<Arch::aarch64>::kRaColumn;
  const bool is_plain = error == ErrorCode::none && !emitter.is_bad() && cie->ra_register == column &&
                        !cie->is_signal_frame && cie->address_size == 8 && (x86 || section_.arch == Arch::aarch64);
  if (!is_plain) cached.initial.odd |= std::uint64_t{1} << 63;  // no register: stays odd whatever the FDE does
  cached.valid = true;
  return &cached;
}

Result<CfiCompiler::Compiled> CfiCompiler::compile(std::uint64_t fde_offset) {
  const auto entry = read_entry(section_, fde_offset);
  if (!entry) return fail(entry.error());
  if (entry->is_terminator || entry->is_cie) return fail(ErrorCode::malformed, fde_offset);
  const auto cie = cie_at(entry->cie_offset);
  if (!cie) return fail(cie.error());
  const auto fde = read_fde(section_, *entry, (*cie)->cie);
  if (!fde) return fail(fde.error());
  if (fde->pc_end - fde->pc_begin > std::numeric_limits<std::uint32_t>::max())
    return fail(ErrorCode::limit_exceeded, fde_offset);
  rows_.clear();
  Emitter emitter(section_, (*cie)->initial, &*fde, rows_, remembered_);
  CfiDecoder decoder(section_, (*cie)->cie, fde->pc_begin, emitter);
  emitter.finish(decoder.run(fde->instructions_begin, fde->instructions_end) == ErrorCode::none);
  const auto origin = section_.flavour == CfiFlavour::eh_frame ? StepperId::eh_frame : StepperId::debug_frame;
  for (auto& row : rows_) row.rule.origin = origin;
  return Compiled{*fde, rows_};
}

}  // namespace mixstack::unwind
