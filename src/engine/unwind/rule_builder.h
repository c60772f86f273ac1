// Collects the effects of unwind codes or decoded instructions on a frame, in terms of the registers at the pc, and
// makes one UnwindRule of them.
#pragma once

#include <array>
#include <cstdint>

#include "engine/unwind/rule.h"
#include "mixstack/registers.h"
#include "mixstack/result.h"

namespace mixstack::unwind {

/// An address as "register at the pc + offset".
struct Place {
  std::uint8_t base = 0;
  std::int64_t offset = 0;
  [[nodiscard]] constexpr Place operator+(std::int64_t n) const { return {base, offset + n}; }
  friend constexpr bool operator==(const Place&, const Place&) = default;
};

/// Undoing a prologue moves the stack pointer from its value at the pc to its value at the call; on the way registers
/// are found saved. Allocates nothing (signal-safe).
class RuleBuilder {
 public:
  explicit RuleBuilder(unsigned sp_register) : sp_{static_cast<std::uint8_t>(sp_register), 0} {}

  [[nodiscard]] Place sp() const { return sp_; }
  void move_sp(std::int64_t n) { sp_.offset += n; }
  /// `sp = base + offset`, `base` being the register's value at the pc. False when that register has been restored
  /// from memory in between: the value meant would not be the one at the pc.
  [[nodiscard]] bool set_sp(unsigned base, std::int64_t offset) {
    if (is_saved(base)) return false;
    sp_ = {static_cast<std::uint8_t>(base), offset};
    return true;
  }
  /// A later save of the same register is the older value and wins, as when codes are executed one after another.
  void saved(unsigned reg, Place where) {
    if (reg >= Registers::kMax) return;
    bases_[reg] = where.base;
    offsets_[reg] = where.offset;
    saved_ |= std::uint64_t{1} << reg;
  }
  [[nodiscard]] bool is_saved(unsigned reg) const { return reg < Registers::kMax && (saved_ >> reg & 1) != 0; }

  /// The rule with the CFA at `cfa`. `malformed` when an offset does not fit 32 bits.
  [[nodiscard]] Result<UnwindRule> finish(Place cfa, unsigned ra_register, StepperId origin, Trust trust) const;
  /// The rule of a frame whose caller's sp is *stored* at `sp_slot`; the caller was interrupted.
  [[nodiscard]] Result<UnwindRule> finish_interrupted(Place sp_slot, unsigned ra_register, StepperId origin) const;

 private:
  [[nodiscard]] bool add_rules(UnwindRule& rule, bool cfa_is_register, Place cfa) const;

  Place sp_;
  std::uint64_t saved_ = 0;
  // Where bit `reg` of saved_ is set; else not even initialized, for speed.
  std::array<std::uint8_t, Registers::kMax> bases_;
  std::array<std::int64_t, Registers::kMax> offsets_;
};

}  // namespace mixstack::unwind
