// An oracle for unwind rules that shares nothing with them: machine code executed on symbols. Every register holds the
// value some register had at function entry, an address relative to the entry sp, or something else; applying a right
// rule at any instruction must give back the entry's values. For tests only.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/unwind/rule.h"
#include "mixstack/registers.h"

namespace mixstack::test {

struct SymbolicValue {
  enum class Kind : std::uint8_t { unknown, entry, sp_relative, constant };
  Kind kind = Kind::unknown;
  std::int64_t value = 0;  ///< register number, distance from the entry sp, or the constant
  friend bool operator==(const SymbolicValue&, const SymbolicValue&) = default;
  static SymbolicValue entry(unsigned reg) { return {Kind::entry, reg}; }
  static SymbolicValue address(std::int64_t offset) { return {Kind::sp_relative, offset}; }
};

/// Registers and stack slots (8 bytes, by distance from the entry sp) at one instruction.
struct SymbolicState {
  std::array<SymbolicValue, Registers::kMax> regs{};
  std::map<std::int64_t, SymbolicValue> slots;
  bool reached = false;

  [[nodiscard]] std::optional<std::int64_t> address(unsigned reg, std::int64_t offset = 0) const {
    if (regs[reg].kind != SymbolicValue::Kind::sp_relative) return std::nullopt;
    return regs[reg].value + offset;
  }
  [[nodiscard]] SymbolicValue load(std::int64_t at) const {
    const auto it = slots.find(at);
    return it == slots.end() ? SymbolicValue{} : it->second;
  }
  void clear(std::int64_t at, std::int64_t size) {
    slots.erase(slots.lower_bound(at - 7), slots.lower_bound(at + size));
  }
  void store(std::int64_t at, SymbolicValue value) {
    clear(at, 8);
    if (value.kind != SymbolicValue::Kind::unknown) slots[at] = value;
  }
  /// Keeps what both agree on. True when that changed this state.
  bool merge(const SymbolicState& other) {
    if (!reached) {
      *this = other;
      reached = true;
      return true;
    }
    bool changed = false;
    for (std::size_t i = 0; i < regs.size(); i++) {
      if (regs[i] == other.regs[i] || regs[i].kind == SymbolicValue::Kind::unknown) continue;
      regs[i] = {};
      changed = true;
    }
    for (auto it = slots.begin(); it != slots.end();) {
      if (other.load(it->first) == it->second) {
        ++it;
      } else {
        it = slots.erase(it);
        changed = true;
      }
    }
    return changed;
  }
};

/// What a rule does wrong at `state`, or an empty string. `entry_cfa` is the CFA relative to the entry sp,
/// `callee_saved` the registers that must come back with their entry values.
inline std::string check_rule(const unwind::UnwindRule& rule, const SymbolicState& state, std::int64_t entry_cfa,
                              std::uint64_t callee_saved, SymbolicValue return_address) {
  using unwind::RegisterRuleKind;
  if (rule.cfa_kind != unwind::CfaKind::register_offset) return "unexpected kind of CFA";
  const auto cfa = state.address(rule.cfa_register, rule.cfa_offset);
  if (!cfa) return "CFA from register " + std::to_string(rule.cfa_register) + ", which does not point into the stack";
  if (*cfa != entry_cfa) return "CFA off by " + std::to_string(*cfa - entry_cfa);
  std::array<SymbolicValue, Registers::kMax> caller = state.regs;
  for (unsigned i = 0; i < rule.count; i++) {
    const auto& r = rule.rules[i];
    std::optional<std::int64_t> at;
    if (r.kind == RegisterRuleKind::at_cfa_offset) at = *cfa + r.value;
    if (r.kind == RegisterRuleKind::at_register_offset) at = state.address(r.base, r.value);
    if (!at) return "no place for register " + std::to_string(r.reg);
    caller[r.reg] = state.load(*at);
  }
  for (unsigned reg = 0; reg < Registers::kMax; reg++) {
    if ((callee_saved >> reg & 1) == 0) continue;
    if (caller[reg] != SymbolicValue::entry(reg)) return "register " + std::to_string(reg) + " not restored";
  }
  if (caller[rule.ra_register] != return_address) return "wrong return address";
  return {};
}

}  // namespace mixstack::test
