#include "base/arch/aarch64/clone_return.h"

#include "base/system/byte_cursor.h"

namespace mixstack::arch::aarch64 {
namespace {

/// The sign-extended, word-scaled 19-bit immediate of CBZ and B.cond.
std::int64_t imm19(std::uint32_t instruction) {
  const auto field = static_cast<std::int32_t>(instruction << 8) >> 13;
  return std::int64_t{field} * 4;
}

}  // namespace

std::optional<Address> child_after_clone(const Registers& registers, std::span<const std::byte> code) {
  if (registers.get(aarch64_reg::x0) != std::uint64_t{0}) return std::nullopt;
  for (std::size_t at = 0; at < 12; at += 4) {
    const auto instruction = base::load_at<std::uint32_t>(code, at);
    if (!instruction) return std::nullopt;
    const bool is_compare = (*instruction & 0x7fffffffu) == 0x7100001fu;          // cmp x0, #0
    const bool is_error_branch = (*instruction & 0xff00001fu) == 0x5400000bu;     // b.lt
    const bool is_negative_branch = (*instruction & 0xff00001fu) == 0x54000004u;  // b.mi
    const bool is_zero_branch = (*instruction & 0x7f00001fu) == 0x34000000u;      // cbz x0
    const bool is_equal_branch = (*instruction & 0xff00001fu) == 0x54000000u;     // b.eq
    if (is_zero_branch || is_equal_branch) return registers.pc() + at + static_cast<Address>(imm19(*instruction));
    if (!is_compare && !is_error_branch && !is_negative_branch) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace mixstack::arch::aarch64
