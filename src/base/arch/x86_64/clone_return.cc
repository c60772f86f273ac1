#include "base/arch/x86_64/clone_return.h"

#include "base/system/byte_cursor.h"

namespace mixstack::arch::x86_64 {
namespace {

struct Branch {
  std::size_t length = 0;
  std::int64_t displacement = 0;
};

/// A conditional jump with one of two short opcodes (the near form is 0F, opcode + 0x10).
std::optional<Branch> jump(std::span<const std::byte> code, std::uint8_t first, std::uint8_t second) {
  const auto op = base::load_at<std::uint8_t>(code, 0);
  if (!op) return std::nullopt;
  if (*op == first || *op == second) {
    const auto d = base::load_at<std::int8_t>(code, 1);
    return d ? std::optional<Branch>({2, *d}) : std::nullopt;
  }
  const auto near_op = base::load_at<std::uint8_t>(code, 1);
  if (*op != 0x0f || !near_op || (*near_op != first + 0x10 && *near_op != second + 0x10)) return std::nullopt;
  const auto d = base::load_at<std::int32_t>(code, 2);
  return d ? std::optional<Branch>({6, *d}) : std::nullopt;
}

std::size_t test_length(std::span<const std::byte> code) {
  const auto rex = base::load_at<std::uint8_t>(code, 0);
  const std::size_t at = rex && *rex == 0x48 ? 1 : 0;
  const auto word = base::load_at<std::uint16_t>(code, at);
  return word && *word == 0xc085 ? at + 2 : 0;
}

}  // namespace

std::optional<Address> child_after_clone(const Registers& registers, std::span<const std::byte> code) {
  if (registers.get(x86_64_reg::rax) != std::uint64_t{0}) return std::nullopt;
  std::size_t at = test_length(code);
  constexpr std::uint8_t kJs = 0x78, kJl = 0x7c, kJe = 0x74;
  if (const auto error = jump(code.subspan(at), kJl, kJs)) at += error->length;
  const auto child = jump(code.subspan(at), kJe, kJe);
  if (!child) return std::nullopt;
  return registers.pc() + at + child->length + static_cast<Address>(child->displacement);
}

}  // namespace mixstack::arch::x86_64
