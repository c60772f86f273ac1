#include "unwind/known_cfi_errors.h"

#include <algorithm>
#include <array>

namespace mixstack::unwind {
namespace {

constexpr std::int32_t kWord = 8;
constexpr std::uint64_t kLargestFunction = 256;  // it has 68 bytes in .NET 10
// push %rax; push %rbp; push %rbx; push %r15; push %r14; push %r13; push %r12
constexpr std::array<std::uint8_t, 11> kPushes{0x50, 0x55, 0x53, 0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0x41, 0x54};

[[nodiscard]] bool saves_nothing(const CompiledRow& row) {
  constexpr std::uint64_t kReturnAddress = std::uint64_t{1} << x86_64_reg::rip;
  const CompactRule& r = row.rule;
  const bool has_slots = std::any_of(r.slots.begin(), r.slots.begin() + kCompactLayouts.x86_64.ra,
                                     [](std::uint16_t slot) { return slot != 0; });
  return r.kind == CompactKind::register_offset && r.cfa_register == x86_64_reg::rsp && !has_slots &&
         (r.saved & ~kReturnAddress) == 0;
}

[[nodiscard]] bool begins_as_hijack_stub(const CfiSection& section, const Fde& fde) {
  if (section.arch != Arch::x86_64 || !section.corrects_known_errors || fde.pc_end - fde.pc_begin > kLargestFunction)
    return false;
  if (section.image == nullptr || !*section.image) return false;
  const auto code = (*section.image)(fde.pc_begin, kPushes.size());
  return code.size() == kPushes.size() && std::equal(kPushes.begin(), kPushes.end(), code.begin(),
                                                     [](std::uint8_t e, std::byte b) { return std::byte{e} == b; });
}

}  // namespace

void correct_known_errors(const CfiSection& section, const Fde& fde, std::span<CompiledRow> rows) {
  if (rows.size() < kPushes.size() || rows[1].offset != 1 || rows[1].rule.cfa_offset != 2 * kWord) return;
  if (!std::all_of(rows.begin(), rows.end(), saves_nothing) || !begins_as_hijack_stub(section, fde)) return;
  for (CompiledRow& row : rows) row.rule.cfa_offset -= kWord;
}

void correct_known_errors(const CfiSection& section, const Fde& fde, UnwindRule& rule) {
  const bool is_plain = rule.cfa_kind == CfaKind::register_offset && rule.cfa_register == x86_64_reg::rsp &&
                        rule.count <= 1 && !rule.is_end_of_stack;
  if (is_plain && begins_as_hijack_stub(section, fde)) rule.cfa_offset -= kWord;
}

}  // namespace mixstack::unwind
