// Input: a CIE, an FDE and a pc (link-time) that it covers. Output: the `UnwindRule` at that pc.
// Algorithm: (1) decode the CIE's instructions into the initial row; (2) keep a copy, to which DW_CFA_restore returns;
// (3) decode the FDE's instructions until the location passes pc; (4) translate the row: expressions of fixed shapes
// become plain rules, others are numbered by their position, so that nothing is stored.
// Bounds: `kCfiProgramLimit` instruction bytes (cfi_program.h), `kRememberLimit` remembered rows, or
// `kBoundedRememberLimit` in place for signal handlers, `UnwindRule::kMaxRules` rules, offsets of 32 bits. A location
// that goes back is malformed.
#include "engine/unwind/cfi_interpreter.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "engine/unwind/apply.h"
#include "engine/unwind/cfi_program.h"
#include "engine/unwind/expression.h"

namespace mixstack::unwind {
namespace {

constexpr std::size_t kRememberLimit = 64;
// Without heap, for signal handlers: compilers remember one state at a time, and a row is large.
constexpr std::size_t kBoundedRememberLimit = 2;

/// A row's rule for one register. Registers beyond the CPU's count (vector registers) are not kept.
struct Column {
  std::int64_t value = 0;
  bool given = false;
  RegisterRuleKind kind = RegisterRuleKind::same_value;
  std::uint8_t base = 0;  ///< kMax and above: a register we do not track
};

struct Row {
  CfaKind cfa_kind = CfaKind::undefined;
  std::uint8_t plt_step = 0;
  bool ra_is_signed = false;
  std::uint64_t cfa_register = 0;
  std::int64_t cfa_offset = 0;
  std::array<Column, Registers::kMax> columns{};
};

/// Remembered rows on the heap.
class GrowingStack {
 public:
  bool push(const Row& row) {
    if (rows_.size() >= kRememberLimit) return false;
    rows_.push_back(row);
    return true;
  }
  bool pop(Row& row) {
    if (rows_.empty()) return false;
    row = rows_.back();
    rows_.pop_back();
    return true;
  }

 private:
  std::vector<Row> rows_;
};

/// Remembered rows in place.
class BoundedStack {
 public:
  bool push(const Row& row) {
    if (size_ == rows_.size()) return false;
    rows_[size_++] = row;
    return true;
  }
  bool pop(Row& row) {
    if (size_ == 0) return false;
    row = rows_[--size_];
    return true;
  }

 private:
  std::array<Row, kBoundedRememberLimit> rows_;
  std::size_t size_ = 0;
};

template <class Remembered>
class Interpreter {
 public:
  Interpreter(const CfiSection& section, std::uint64_t location, std::uint64_t target)
      : section_(section), register_count_(arch_registers(section.arch).count), location_(location), target_(target) {}

  /// Call between the CIE's instructions and the FDE's.
  void start_function() {
    initial_ = row_;
    in_function_ = true;
  }
  [[nodiscard]] bool is_bad() const { return bad_; }
  [[nodiscard]] const Row& row() const { return row_; }

  bool advance(std::uint64_t delta) { return set_location(location_ + delta); }
  bool set_location(std::uint64_t address) {
    if (!in_function_ || address < location_) bad_ = true;
    location_ = address;
    return !bad_ && location_ <= target_;
  }

  void def_cfa(std::uint64_t reg, std::int64_t offset) {
    row_.cfa_kind = CfaKind::register_offset;
    row_.cfa_register = reg;
    row_.cfa_offset = offset;
  }
  void def_cfa_register(std::uint64_t reg) {
    if (row_.cfa_kind != CfaKind::register_offset) row_.cfa_kind = CfaKind::undefined;
    row_.cfa_register = reg;
  }
  void def_cfa_offset(std::int64_t offset) {
    if (row_.cfa_kind != CfaKind::register_offset) row_.cfa_kind = CfaKind::undefined;
    row_.cfa_offset = offset;
  }
  void def_cfa_expression(std::uint64_t block) {
    using Kind = ExpressionPattern::Kind;
    const auto pattern = match_expression(section_.arch, read_block(section_, block));
    row_.cfa_register = pattern.reg;
    row_.cfa_offset = pattern.offset;
    row_.plt_step = pattern.plt_step;
    switch (pattern.kind) {
      case Kind::register_offset:
        row_.cfa_kind = CfaKind::register_offset;
        break;
      case Kind::deref_register_offset:
        row_.cfa_kind = CfaKind::deref_register_offset;
        break;
      case Kind::plt:
        row_.cfa_kind = CfaKind::plt;
        break;
      case Kind::none:
        row_.cfa_kind = CfaKind::expression;
        row_.cfa_offset = number(block);
        break;
    }
  }

  void offset(std::uint64_t reg, std::int64_t n) { set(reg, column(RegisterRuleKind::at_cfa_offset, n)); }
  void value_offset(std::uint64_t reg, std::int64_t n) { set(reg, column(RegisterRuleKind::is_cfa_offset, n)); }
  void in_register(std::uint64_t reg, std::uint64_t other) {
    set(reg, column(RegisterRuleKind::in_register, 0, other));
  }
  void expression(std::uint64_t reg, std::uint64_t block) {
    const auto pattern = match_expression(section_.arch, read_block(section_, block));
    if (pattern.kind == ExpressionPattern::Kind::register_offset) {
      set(reg, column(RegisterRuleKind::at_register_offset, pattern.offset, pattern.reg));
    } else {
      set(reg, column(RegisterRuleKind::at_expression, number(block)));
    }
  }
  void value_expression(std::uint64_t reg, std::uint64_t block) {
    set(reg, column(RegisterRuleKind::is_expression, number(block)));
  }
  void undefined(std::uint64_t reg) { set(reg, column(RegisterRuleKind::undefined)); }
  void same_value(std::uint64_t reg) { set(reg, column(RegisterRuleKind::same_value)); }
  void restore(std::uint64_t reg) {
    if (reg < register_count_) row_.columns[reg] = initial_.columns[reg];
  }
  bool remember() { return remembered_.push(row_); }
  bool restore_state() { return remembered_.pop(row_); }
  void toggle_ra_state() { row_.ra_is_signed = !row_.ra_is_signed; }
  void set_ra_state(bool is_signed) { row_.ra_is_signed = is_signed; }

 private:
  [[nodiscard]] static Column column(RegisterRuleKind kind, std::int64_t value = 0, std::uint64_t base = 0) {
    return {value, true, kind, static_cast<std::uint8_t>(std::min<std::uint64_t>(base, Registers::kMax))};
  }
  void set(std::uint64_t reg, const Column& column) {
    if (reg < register_count_) row_.columns[reg] = column;
  }
  [[nodiscard]] std::int64_t number(std::uint64_t block) const {
    return static_cast<std::int64_t>(expression_number(section_.flavour, block));
  }

  const CfiSection& section_;
  std::uint64_t register_count_;
  std::uint64_t location_;
  std::uint64_t target_;
  bool in_function_ = false;
  bool bad_ = false;
  Row row_;
  Row initial_;
  Remembered remembered_;
};

bool fits(std::int64_t v) {
  return v >= std::numeric_limits<std::int32_t>::min() && v <= std::numeric_limits<std::int32_t>::max();
}

/// A return-address column without a rule means that the register still holds it, like a leaf's link register. A column
/// that calls do not preserve cannot hold it: so glibc marks thread_start on AArch64 (column 15) as outermost.
bool may_hold_return_address(const CfiSection& section, const Cie& cie) {
  const arch::Cpu& cpu = arch::cpu(section.arch);
  const auto column = static_cast<unsigned>(cie.ra_register);
  return !cpu.has_link_register() || column >= cpu.registers.pc || column == cpu.link_register ||
         (cpu.preserved_with_sp() >> column & 1) != 0;
}

Result<UnwindRule> to_rule(const Row& row, const CfiSection& section, const Cie& cie, const Fde& fde) {
  UnwindRule rule;
  const bool uses_register = row.cfa_kind != CfaKind::expression && row.cfa_kind != CfaKind::undefined;
  if (!fits(row.cfa_offset)) return fail(ErrorCode::limit_exceeded, fde.offset);
  if (uses_register && row.cfa_register >= Registers::kMax) return fail(ErrorCode::unsupported, fde.offset);
  rule.cfa_kind = row.cfa_kind;
  rule.cfa_register = static_cast<std::uint8_t>(row.cfa_register);
  rule.cfa_offset = static_cast<std::int32_t>(row.cfa_offset);
  rule.plt_step = row.plt_step;
  rule.ra_register = static_cast<std::uint8_t>(cie.ra_register);
  rule.is_signal_frame = cie.is_signal_frame;
  rule.ra_is_signed = row.ra_is_signed;
  rule.origin = section.flavour == CfiFlavour::eh_frame ? StepperId::eh_frame : StepperId::debug_frame;
  const auto& ra = row.columns[cie.ra_register];
  rule.is_end_of_stack = ra.given ? ra.kind == RegisterRuleKind::undefined : !may_hold_return_address(section, cie);
  for (std::uint8_t reg = 0; reg < row.columns.size(); reg++) {  // NOLINT(bugprone-too-small-loop-variable)
    const Column& c = row.columns[reg];
    if (!c.given || rule.count == UnwindRule::kMaxRules) continue;
    if (!fits(c.value)) return fail(ErrorCode::limit_exceeded, fde.offset);
    // A base we do not track makes the register unknown, not the whole row unusable.
    const bool base_known = c.base < Registers::kMax;
    rule.rules[rule.count++] = {reg, base_known ? c.kind : RegisterRuleKind::undefined,
                                base_known ? c.base : std::uint8_t{0}, 0, static_cast<std::int32_t>(c.value)};
  }
  return rule;
}

template <class Remembered>
Result<UnwindRule> interpret(const CfiSection& section, const Cie& cie, const Fde& fde, std::uint64_t pc) {
  if (pc < fde.pc_begin || pc >= fde.pc_end) return fail(ErrorCode::no_unwind_info, pc);
  if (cie.ra_register >= Registers::kMax) return fail(ErrorCode::unsupported, cie.offset);
  Interpreter<Remembered> state(section, fde.pc_begin, pc);
  CfiDecoder decoder(section, cie, fde.pc_begin, state);
  ErrorCode error = decoder.run(cie.instructions_begin, cie.instructions_end);
  state.start_function();
  if (error == ErrorCode::none) error = decoder.run(fde.instructions_begin, fde.instructions_end);
  if (error == ErrorCode::none && state.is_bad()) error = ErrorCode::malformed;
  if (error != ErrorCode::none) return fail(error, fde.offset);
  return to_rule(state.row(), section, cie, fde);
}

}  // namespace

std::span<const std::byte> read_block(const CfiSection& section, std::uint64_t position) {
  constexpr std::uint64_t kLongestLength = 10;
  if (position > section.bytes.size()) return {};
  if (!section.ensure(position, std::min<std::uint64_t>(kLongestLength, section.bytes.size() - position))) return {};
  base::ByteCursor cursor(section.bytes, static_cast<std::size_t>(position));
  const std::uint64_t size = cursor.uleb();
  if (!cursor.ok() || !section.ensure(cursor.position(), size)) return {};
  return cursor.bytes(size);
}

Result<UnwindRule> interpret_fde(const CfiSection& section, const Cie& cie, const Fde& fde, std::uint64_t pc) {
  return interpret<GrowingStack>(section, cie, fde, pc);
}

Result<UnwindRule> interpret_fde_in_place(const CfiSection& section, const Cie& cie, const Fde& fde, std::uint64_t pc) {
  return interpret<BoundedStack>(section, cie, fde, pc);
}

}  // namespace mixstack::unwind
