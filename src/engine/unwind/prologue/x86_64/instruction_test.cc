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

TEST(X86Instruction, WhateverWritesToTheStackPointerLosesIt) {
  const std::initializer_list<std::initializer_list<unsigned>> kWrites = {
      {0x48, 0xbc, 1, 2, 3, 4, 5, 6, 7, 8},  // movabs rsp, constant
      {0xbc, 1, 2, 3, 4},                    // mov esp, constant
      {0x48, 0xc7, 0xc4, 1, 2, 3, 4},        // mov rsp, constant
      {0x48, 0x94},                          // xchg rax, rsp
      {0x48, 0x87, 0xe3},                    // xchg rbx, rsp
      {0x48, 0xc1, 0xe4, 4},                 // shl rsp, 4
      {0x48, 0xf7, 0xdc},                    // neg rsp
      {0x48, 0xff, 0xc4},                    // inc rsp
      {0x48, 0xff, 0xcc},                    // dec rsp
      {0x48, 0x0f, 0x44, 0xe0},              // cmove rsp, rax
      {0x48, 0x0f, 0xaf, 0xe0},              // imul rsp, rax
      {0x48, 0x63, 0xe0},                    // movsxd rsp, eax
      {0x48, 0x0f, 0xcc},                    // bswap rsp
      {0x48, 0x0f, 0xc1, 0xc4},              // xadd rsp, rax
      {0x66, 0x48, 0x0f, 0x7e, 0xe4},        // movq rsp, xmm4
      {0x48, 0x21, 0xc4},                    // and rsp, rax
      {0x48, 0x2b, 0x20},                    // sub rsp, [rax]
      {0x66, 0x50},                          // push ax: two bytes
      {0x40, 0xb4, 1},                       // mov spl, constant
  };
  for (const auto& code : kWrites) {
    const Instruction i = decode_alone(code);
    EXPECT_EQ(i.length, code.size());
    EXPECT_EQ(i.effect, Effect::lose_register) << std::hex << *code.begin() << " " << *(code.begin() + 1);
    EXPECT_EQ(i.regs[0], x86_64_reg::rsp);
  }
  const std::initializer_list<std::initializer_list<unsigned>> kOthers = {
      {0x48, 0x39, 0xc4},                    // cmp rsp, rax
      {0x48, 0x85, 0xe4},                    // test rsp, rsp
      {0x49, 0xbc, 1, 2, 3, 4, 5, 6, 7, 8},  // movabs r12, constant
      {0x49, 0x94},                          // xchg rax, r12
      {0xb4, 1},                             // mov ah, constant
      {0x0f, 0x28, 0xe1},                    // movaps xmm4, xmm1
      {0xf3, 0x0f, 0x7e, 0xcc},              // movq xmm1, xmm4
      {0x48, 0xf7, 0xe4},                    // mul rsp
      {0x48, 0x29, 0x24, 0x24},              // sub [rsp], rsp
      {0x90},                                // nop
  };
  for (const auto& code : kOthers)
    EXPECT_EQ(decode_alone(code).effect, Effect::none) << std::hex << *code.begin() << " " << *(code.begin() + 1);
  const Instruction fs = decode_alone({0x0f, 0xa0});  // push fs
  EXPECT_EQ(fs.effect, Effect::save);
  EXPECT_EQ(fs.sp_before, -8);
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
