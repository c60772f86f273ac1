// Decodes call frame instructions for the table compiler (fast) and the interpreter (general). It knows the opcodes,
// they know their form of a row.
#pragma once

#include <cstdint>
#include <span>

#include "base/arch/cpu.h"
#include "base/system/byte_cursor.h"
#include "engine/unwind/cfi_opcode.h"
#include "engine/unwind/cfi_section.h"

namespace mixstack::unwind {

/// Most instruction bytes decoded of one CIE or FDE. The longest known FDE of real images has about 20 KB (an
/// interpreter loop with a row for each epilogue).
inline constexpr std::uint64_t kCfiProgramLimit = 128 << 10;

/// Decodes the instructions in [begin, end) of the section and tells `state`, a class with
///   bool advance(std::uint64_t delta)            the location moves; false stops the decoding without error
///   bool set_location(std::uint64_t address)
///   def_cfa(reg, offset) def_cfa_register(reg) def_cfa_offset(offset) def_cfa_expression(block)
///   offset(reg, n) value_offset(reg, n) in_register(reg, other) expression(reg, block) value_expression(reg, block)
///   undefined(reg) same_value(reg) restore(reg)
///   bool remember() bool restore_state()         false: too deep, or nothing to restore
///   toggle_ra_state() set_ra_state(bool)
/// Offsets are factored already; a block is the position of its length in the section. Answers why it stopped early,
/// or `none`.
template <class State>
class CfiDecoder {
 public:
  CfiDecoder(const CfiSection& section, const Cie& cie, std::uint64_t function, State& state)
      : section_(section), cie_(cie), function_(function), state_(state) {}

  [[nodiscard]] ErrorCode run(std::uint64_t begin, std::uint64_t end) {
    if (begin > end || end > section_.bytes.size()) return ErrorCode::truncated;
    if (end - begin > kCfiProgramLimit) return ErrorCode::limit_exceeded;
    cursor_ = base::ByteCursor(section_.bytes.first(static_cast<std::size_t>(end)), static_cast<std::size_t>(begin));
    while (!cursor_.at_end()) {
      const Outcome outcome = step(cursor_.u8());
      if (!cursor_.ok()) return ErrorCode::truncated;
      if (outcome == Outcome::go_on) continue;
      return outcome == Outcome::stop ? ErrorCode::none : ErrorCode::malformed;
    }
    return ErrorCode::none;
  }

 private:
  enum class Outcome : std::uint8_t { go_on, stop, bad };

  static std::int64_t multiply(std::uint64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(a * static_cast<std::uint64_t>(b));
  }
  [[nodiscard]] std::int64_t unsigned_factored() { return multiply(cursor_.uleb(), cie_.data_alignment); }
  [[nodiscard]] std::int64_t signed_factored() {
    return multiply(static_cast<std::uint64_t>(cursor_.sleb()), cie_.data_alignment);
  }
  [[nodiscard]] std::uint64_t read_register() { return arch::cpu(section_.arch).register_of(cursor_.uleb()); }
  [[nodiscard]] std::uint64_t block() {
    const std::uint64_t position = cursor_.position();
    cursor_.skip(cursor_.uleb());
    return position;
  }
  [[nodiscard]] Outcome advance(std::uint64_t delta) {
    if (!cursor_.ok()) return Outcome::bad;
    return state_.advance(delta * cie_.code_alignment) ? Outcome::go_on : Outcome::stop;
  }

  [[nodiscard]] Outcome step(std::uint8_t op) {
    const std::uint8_t low = op & dw_cfa::kLowMask;
    switch (op >> 6) {
      case dw_cfa::kAdvanceLoc:
        return advance(low);
      case dw_cfa::kOffset:
        state_.offset(low, unsigned_factored());
        return Outcome::go_on;
      case dw_cfa::kRestore:
        state_.restore(low);
        return Outcome::go_on;
      default:
        break;
    }
    switch (op) {
      case dw_cfa::kNop:
        return Outcome::go_on;
      case dw_cfa::kAdvanceLoc1:
        return advance(cursor_.u8());
      case dw_cfa::kAdvanceLoc2:
        return advance(cursor_.u16());
      case dw_cfa::kAdvanceLoc4:
        return advance(cursor_.u32());
      case dw_cfa::kMipsAdvanceLoc8:
        return advance(cursor_.u64());
      case dw_cfa::kSetLoc:
        return set_location();
      case dw_cfa::kRememberState:
        return state_.remember() ? Outcome::go_on : Outcome::bad;
      case dw_cfa::kRestoreState:
        return state_.restore_state() ? Outcome::go_on : Outcome::bad;
      case dw_cfa::kGnuArgsSize:
        (void)cursor_.uleb();
        return Outcome::go_on;
      case dw_cfa::kDefCfaOffset:
        state_.def_cfa_offset(static_cast<std::int64_t>(cursor_.uleb()));
        break;
      case dw_cfa::kDefCfaOffsetSf:
        state_.def_cfa_offset(signed_factored());
        break;
      case dw_cfa::kDefCfaExpression:
        state_.def_cfa_expression(block());
        break;
      case dw_cfa::kAarch64NegateRaStateWithPc:
      case dw_cfa::kGnuWindowSave:
        // On other CPUs the opcode is SPARC's window save, which means nothing here: it must not change the row.
        if (arch::cpu(section_.arch).signs_return_addresses) state_.toggle_ra_state();
        break;
      case dw_cfa::kAarch64SetRaState: {
        if (!arch::cpu(section_.arch).signs_return_addresses) return Outcome::bad;
        const std::uint64_t ra_state = cursor_.uleb();
        (void)cursor_.sleb();
        state_.set_ra_state(ra_state != 0);
        break;
      }
      default:
        return register_instruction(op);
    }
    return Outcome::go_on;
  }

  /// Instructions whose first operand is a register.
  [[nodiscard]] Outcome register_instruction(std::uint8_t op) {
    const std::uint64_t reg = read_register();
    switch (op) {
      case dw_cfa::kDefCfa:
        state_.def_cfa(reg, static_cast<std::int64_t>(cursor_.uleb()));
        break;
      case dw_cfa::kDefCfaSf:
        state_.def_cfa(reg, signed_factored());
        break;
      case dw_cfa::kDefCfaRegister:
        state_.def_cfa_register(reg);
        break;
      case dw_cfa::kOffsetExtended:
        state_.offset(reg, unsigned_factored());
        break;
      case dw_cfa::kOffsetExtendedSf:
        state_.offset(reg, signed_factored());
        break;
      case dw_cfa::kGnuNegativeOffsetExtended:
        state_.offset(reg, multiply(~std::uint64_t{0}, unsigned_factored()));
        break;
      case dw_cfa::kValOffset:
        state_.value_offset(reg, unsigned_factored());
        break;
      case dw_cfa::kValOffsetSf:
        state_.value_offset(reg, signed_factored());
        break;
      case dw_cfa::kRestoreExtended:
        state_.restore(reg);
        break;
      case dw_cfa::kUndefined:
        state_.undefined(reg);
        break;
      case dw_cfa::kSameValue:
        state_.same_value(reg);
        break;
      case dw_cfa::kRegister:
        state_.in_register(reg, read_register());
        break;
      case dw_cfa::kExpression:
        state_.expression(reg, block());
        break;
      case dw_cfa::kValExpression:
        state_.value_expression(reg, block());
        break;
      default:
        return Outcome::bad;
    }
    return Outcome::go_on;
  }

  [[nodiscard]] Outcome set_location() {
    const auto address = read_pointer(cursor_, cie_.fde_encoding, section_.bases(cie_.address_size, function_));
    if (!address) return Outcome::bad;
    return state_.set_location(*address) ? Outcome::go_on : Outcome::stop;
  }

  const CfiSection& section_;
  const Cie& cie_;
  std::uint64_t function_;
  State& state_;
  base::ByteCursor cursor_;
};

}  // namespace mixstack::unwind
