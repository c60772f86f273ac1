#include "engine/unwind/known_cfi_errors.h"

#include <algorithm>
#include <array>

namespace mixstack::unwind {
using Known = KnownCfiErrors<Arch::x86_64>;

namespace {

constexpr std::int32_t kWord = 8;
// push %rax; push %rbp; push %rbx; push %r15; push %r14; push %r13; push %r12
constexpr std::array<std::uint8_t, 11> kPushes{0x50, 0x55, 0x53, 0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0x41, 0x54};

static_assert(kPushes.size() == kKnownErrorBytes);

[[nodiscard]] bool saves_nothing(const CompactRule& r) {
  constexpr std::uint64_t kReturnAddress = std::uint64_t{1} << x86_64_reg::rip;
  const bool has_slots = std::any_of(r.slots.begin(), r.slots.begin() + kCompactLayouts.x86_64.ra,
                                     [](std::uint16_t slot) { return slot != 0; });
  return r.kind == CompactKind::register_offset && r.cfa_register == x86_64_reg::rsp && !has_slots &&
         (r.saved & ~kReturnAddress) == 0;
}

}  // namespace

template <>
bool Known::may_be(const CompactRule& row) {
  return saves_nothing(row);
}

template <>
bool Known::may_be(const UnwindRule& rule) {
  return rule.cfa_kind == CfaKind::register_offset && rule.cfa_register == x86_64_reg::rsp && rule.count <= 1 &&
         !rule.is_end_of_stack;
}

template <>
bool Known::may_be_all(std::span<const CompiledRow> rows) {
  if (rows.size() < kPushes.size() || rows[1].offset != 1 || rows[1].rule.cfa_offset != 2 * kWord) return false;
  return std::all_of(rows.begin(), rows.end(), [](const CompiledRow& row) { return saves_nothing(row.rule); });
}

template <>
bool Known::is_code(std::span<const std::byte> function_start) {
  return function_start.size() == kPushes.size() &&
         std::equal(kPushes.begin(), kPushes.end(), function_start.begin(),
                    [](std::uint8_t e, std::byte b) { return std::byte{e} == b; });
}

template <>
void Known::correct(CompactRule& row) {
  row.cfa_offset -= kWord;
}

template <>
void Known::correct(UnwindRule& rule) {
  rule.cfa_offset -= kWord;
}

}  // namespace mixstack::unwind
