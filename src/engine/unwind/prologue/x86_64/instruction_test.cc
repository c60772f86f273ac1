#include "engine/unwind/prologue/x86_64/instruction.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "mixstack/registers.h"

namespace mixstack::unwind::prologue::x86_64 {
namespace {

/// Decodes bytes that nothing follows: a read past them is an error under AddressSanitizer.
Instruction decode_alone(std::initializer_list<unsigned> bytes) {
  const auto code = std::make_unique<std::byte[]>(bytes.size());
  std::size_t at = 0;
  for (const unsigned b : bytes) code[at++] = static_cast<std::byte>(b);
  return decode({code.get(), bytes.size()});
}

TEST(X86Instruction, SavesAndAddressesAreByBaseAndDisplacement) {
  const Instruction save = decode_alone({0x48, 0x89, 0x5c, 0x24, 0x10});  // mov [rsp+16], rbx
  EXPECT_EQ(save.effect, Effect::save);
  EXPECT_EQ(save.regs[0], x86_64_reg::rbx);
  EXPECT_EQ(save.base, x86_64_reg::rsp);
  EXPECT_EQ(save.offset, 16);

  const Instruction lea = decode_alone({0x48, 0x8d, 0x6c, 0x24, 0x20});  // lea rbp, [rsp+32]
  EXPECT_EQ(lea.effect, Effect::set_address);
  EXPECT_EQ(lea.regs[0], x86_64_reg::rbp);
  EXPECT_EQ(lea.offset, 32);
}

TEST(X86Instruction, ALeaOfTwoRegistersHasNoSibByte) {
  const Instruction lea = decode_alone({0x48, 0x8d, 0xe4});
  EXPECT_EQ(lea.length, 3u);
  EXPECT_EQ(lea.effect, Effect::lose_register) << "rsp is what nobody knows";
}

TEST(X86Instruction, AddressesOfSegmentsAndOf32BitsAreNotTheirBases) {
  for (const unsigned prefix : {0x64u, 0x65u, 0x67u}) {
    const Instruction restore = decode_alone({prefix, 0x48, 0x8b, 0x5c, 0x24, 0x10});  // mov rbx, fs:[rsp+16]
    EXPECT_EQ(restore.length, 6u);
    EXPECT_NE(restore.effect, Effect::restore) << prefix;
    EXPECT_NE(decode_alone({prefix, 0x48, 0x8d, 0x64, 0x24, 0x08}).effect, Effect::set_address) << prefix;
  }
}

}  // namespace
}  // namespace mixstack::unwind::prologue::x86_64
