// LINK: mixstack_engine_unwind
// DWARF expressions of any content, with registers and memory to work on: bounded, and never outside the bytes given.
#include <array>

#include "base/system/byte_cursor.h"
#include "engine/unwind/expression.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mixstack;  // NOLINT
  base::ByteCursor cursor(std::as_bytes(std::span(data, size)));
  const std::uint8_t flags = cursor.u8();
  Registers registers((flags & 1) != 0 ? Arch::x86 : Arch::x86_64);
  constexpr Address kStack = 0x1000;
  for (unsigned r = 0; r < 16; r += 1 + (flags >> 4 & 1)) registers.set(r, kStack + 8 * r);
  std::array<std::uint64_t, 64> words{};
  for (std::size_t i = 0; i < words.size(); i++) words[i] = kStack + 16 * i;
  const StackView stack{kStack, reinterpret_cast<const std::byte*>(words.data()), sizeof(words), nullptr};
  unwind::ExpressionContext context;
  context.registers = &registers;
  context.stack = &stack;
  if ((flags & 2) != 0) context.initial = kStack + 0x80;
  if ((flags & 4) != 0) context.cfa = kStack + 0x80;
  unsigned steps = unwind::kExpressionStepLimit;
  (void)unwind::evaluate_expression(cursor.rest(), context, steps);
  (void)unwind::match_expression(Arch::x86_64, cursor.rest());
  return 0;
}
