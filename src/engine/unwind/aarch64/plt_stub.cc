#include "engine/unwind/plt_stub.h"

#include <algorithm>

#include "base/system/byte_cursor.h"

namespace mixstack::unwind::aarch64 {
namespace {

// System V ABI for the Arm 64-bit Architecture, "Procedure Linkage Table", and binutils' elfnn-aarch64.c:
//   entry:  [bti c] adrp x16, page; ldr x17, [x16, #low]; add x16, x16, #low; [autia1716] br x17
//   first:  [bti c] stp x16, x30, [sp, #-16]!; and then the same
constexpr std::uint32_t kBtiC = 0xd503245f, kAutia1716 = 0xd503219f, kBrX17 = 0xd61f0220, kPush = 0xa9bf7bf0;
constexpr bool is_adrp_x16(std::uint32_t i) { return (i & 0x9f00001f) == 0x90000010; }
constexpr bool is_ldr_x17_x16(std::uint32_t i) { return (i & 0xffc003ff) == 0xf9400211; }
constexpr bool is_add_x16(std::uint32_t i) { return (i & 0xffc003ff) == 0x91000210; }
constexpr std::size_t kWord = 4, kFarthestAdrp = 4;  // instructions before the pc at which the adrp may be
constexpr std::size_t kHead = 2;                     // and behind it: the pc may be at bti and stp

UnwindRule stub_rule(bool has_pushed) {
  UnwindRule rule;
  rule.cfa_kind = CfaKind::register_offset;
  rule.cfa_register = aarch64_reg::sp;
  rule.cfa_offset = has_pushed ? 16 : 0;
  rule.ra_register = aarch64_reg::lr;
  rule.origin = StepperId::prologue;
  if (has_pushed) rule.rules[rule.count++] = {aarch64_reg::lr, RegisterRuleKind::at_cfa_offset, 0, 0, -8};
  return rule;
}

}  // namespace

std::optional<UnwindRule> match_plt_stub(std::span<const std::byte> code, std::size_t at) {
  const auto word = [&](std::size_t i) { return base::load_at<std::uint32_t>(code, i).value_or(0); };
  const std::size_t first = at - std::min(at, kFarthestAdrp * kWord) / kWord * kWord;
  for (std::size_t adrp = first; adrp <= at + kHead * kWord; adrp += kWord) {
    if (!is_adrp_x16(word(adrp)) || !is_ldr_x17_x16(word(adrp + 4)) || !is_add_x16(word(adrp + 8))) continue;
    const std::size_t jump = adrp + (word(adrp + 12) == kAutia1716 ? 16 : 12);
    if (word(jump) != kBrX17 || at > jump) continue;
    std::size_t start = adrp;
    const bool pushes = start >= kWord && word(start - kWord) == kPush;
    if (pushes) start -= kWord;
    if (start >= kWord && word(start - kWord) == kBtiC) start -= kWord;
    if (at >= start) return stub_rule(pushes && at >= adrp);
  }
  return std::nullopt;
}

}  // namespace mixstack::unwind::aarch64
