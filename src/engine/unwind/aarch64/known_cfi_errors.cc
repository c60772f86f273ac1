#include "engine/unwind/known_cfi_errors.h"

#include <algorithm>

#include "base/system/byte_cursor.h"

namespace mixstack::unwind {

using Known = KnownCfiErrors<Arch::aarch64>;

namespace {

constexpr std::int32_t kPushed = 16, kReturnAddressAt = 8;  // by the stub: x16, then the return address
constexpr std::uint32_t kBtiC = 0xd503245f, kNop = 0xd503201f;
/// stp x8, x9, [sp, #-...]!
constexpr bool pushes_x8_x9(std::uint32_t i) { return (i & 0xffe07fff) == 0xa9a027e8; }

/// Everything above the CFA is the caller's: nothing else is saved there.
[[nodiscard]] bool is_above_cfa(const RegisterRule& r) {
  return r.reg == aarch64_reg::lr && r.kind == RegisterRuleKind::at_cfa_offset && r.value == kReturnAddressAt;
}

}  // namespace

/// Where the function begins.
template <>
bool Known::may_be(const CompactRule& row) {
  return row.kind == CompactKind::register_offset && row.cfa_register == aarch64_reg::sp && row.cfa_offset == 0 &&
         std::all_of(row.slots.begin(), row.slots.end(), [](std::uint16_t slot) { return slot == 0; });
}

template <>
bool Known::may_be(const UnwindRule& rule) {
  if (rule.cfa_kind != CfaKind::register_offset || rule.cfa_register != aarch64_reg::sp || rule.is_end_of_stack)
    return false;
  const auto saved = std::span(rule.rules).first(rule.count);
  return (saved.empty() && rule.cfa_offset == 0) || std::any_of(saved.begin(), saved.end(), is_above_cfa);
}

/// Rows that do not fit follow the first one: no compact row has a slot above the CFA.
template <>
bool Known::may_be_all(std::span<const CompiledRow> rows) {
  const auto does_not_fit = [](const CompiledRow& row) { return row.rule.kind == CompactKind::interpret; };
  return rows.size() > 1 && may_be(rows[0].rule) && std::all_of(rows.begin() + 1, rows.end(), does_not_fit);
}

template <>
bool Known::is_code(std::span<const std::byte> function_start) {
  const auto first = base::load_at<std::uint32_t>(function_start, 0).value_or(0);
  const bool has_mark = first == kBtiC || first == kNop;
  return pushes_x8_x9(has_mark ? base::load_at<std::uint32_t>(function_start, 4).value_or(0) : first);
}

template <>
void Known::correct(CompactRule& row) {
  row.cfa_offset += kPushed;
}

template <>
void Known::correct(UnwindRule& rule) {
  rule.cfa_offset += kPushed;
  for (auto& r : std::span(rule.rules).first(rule.count))
    if (r.kind == RegisterRuleKind::at_cfa_offset) r.value -= kPushed;
  // Registers that the function has restored before it jumps are saved below sp, where a handler may have written.
  auto* const end = rule.rules.begin() + rule.count;
  const auto is_taken_back = [&](const RegisterRule& r) {
    return r.kind == RegisterRuleKind::at_cfa_offset && rule.cfa_offset + r.value < 0;
  };
  rule.count = static_cast<std::uint8_t>(std::remove_if(rule.rules.begin(), end, is_taken_back) - rule.rules.begin());
}

}  // namespace mixstack::unwind
