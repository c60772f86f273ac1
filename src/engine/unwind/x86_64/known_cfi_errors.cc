#include "engine/unwind/known_cfi_errors.h"

#include <algorithm>
#include <array>

namespace mixstack::unwind {
namespace {

constexpr std::int32_t kWord = 8;
constexpr std::uint64_t kLargestFunction = 256;  // it has 68 bytes in .NET 10
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

[[nodiscard]] bool are_pushes(std::span<const std::byte> code) {
  return code.size() == kPushes.size() && std::equal(kPushes.begin(), kPushes.end(), code.begin(),
                                                     [](std::uint8_t e, std::byte b) { return std::byte{e} == b; });
}

[[nodiscard]] bool begins_as_hijack_stub(const CfiSection& section, const Fde& fde) {
  if (section.arch != Arch::x86_64 || !section.corrects_known_errors || fde.pc_end - fde.pc_begin > kLargestFunction)
    return false;
  if (section.image == nullptr || !*section.image) return false;
  return are_pushes((*section.image)(fde.pc_begin, kPushes.size()));
}

}  // namespace

void correct_known_errors(const CfiSection& section, const Fde& fde, std::span<CompiledRow> rows) {
  if (rows.size() < kPushes.size() || rows[1].offset != 1 || rows[1].rule.cfa_offset != 2 * kWord) return;
  const auto is_bare = [](const CompiledRow& row) { return saves_nothing(row.rule); };
  if (!std::all_of(rows.begin(), rows.end(), is_bare) || !begins_as_hijack_stub(section, fde)) return;
  for (CompiledRow& row : rows) row.rule.cfa_offset -= kWord;
}

void correct_known_errors(const CfiSection& section, const Fde& fde, UnwindRule& rule) {
  const bool is_plain = rule.cfa_kind == CfaKind::register_offset && rule.cfa_register == x86_64_reg::rsp &&
                        rule.count <= 1 && !rule.is_end_of_stack;
  if (is_plain && begins_as_hijack_stub(section, fde)) rule.cfa_offset -= kWord;
}

bool may_have_known_error(Arch arch, const CompactRule& row, std::uint64_t function_size) {
  return arch == Arch::x86_64 && function_size <= kLargestFunction && function_size >= kPushes.size() &&
         saves_nothing(row);
}

void correct_known_error(CompactRule& row, std::span<const std::byte> function_start) {
  if (are_pushes(function_start)) row.cfa_offset -= kWord;
}

}  // namespace mixstack::unwind
