#include "agent/in_process/decoded_pieces.h"

#include <gtest/gtest.h>

#include <cstring>

#include "agent/in_process/managed_code.h"
#include "base/memory/buffer_memory.h"
#include "support/byte_lists.h"

namespace mixstack::agent {
namespace {

constexpr Address kHot = 0x7f0000002000, kCold = 0x7f0000008000;

/// A method with a call, a funclet behind it, and a cold part, for each CPU.
struct Method {
  Arch arch;
  std::vector<std::byte> hot, cold;
  std::size_t funclet, in_body, in_epilogue;  ///< offsets: of the funclet, behind the call, before the last `ret`
  std::uint32_t frame, funclet_frame;
};

using test::bytes_of;
using test::words_of;

Method method_of(Arch arch) {
  if (arch == Arch::x86_64)  // push rbp; sub rsp, 32; lea rbp, [rsp+32]; call; add rsp, 32; pop rbp; ret;
                             // push rbp; sub rsp, 16; call; add rsp, 16; pop rbp; ret
    return {arch,
            bytes_of({0x55, 0x48, 0x83, 0xec, 0x20, 0x48, 0x8d, 0x6c, 0x24, 0x20, 0xe8, 0,    0,
                      0,    0,    0x48, 0x83, 0xc4, 0x20, 0x5d, 0xc3, 0x55, 0x48, 0x83, 0xec, 0x10,
                      0xe8, 0,    0,    0,    0,    0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3}),
            bytes_of({0xe8, 0, 0, 0, 0, 0xcc}),
            21,
            15,
            20,
            48,
            32};
  // stp x29, x30, [sp, #-48]!; mov x29, sp; bl; ldp x29, x30, [sp], #48; ret; stp x29, x30, [sp, #-16]!; bl; ldp; ret
  return {arch,
          words_of({0xa9bd7bfd, 0x910003fd, 0x94000010, 0xa8c37bfd, 0xd65f03c0, 0xa9bf7bfd, 0x94000010, 0xa8c17bfd,
                    0xd65f03c0}),
          words_of({0x94000010, 0xd4200000}),
          20,
          12,
          16,
          48,
          16};
}

class DecodedPieces : public testing::TestWithParam<Arch> {
 protected:
  void SetUp() override {
    memory_.add(kHot, method_.hot);
    memory_.add(kCold, method_.cold);
    ranges_ = {{kHot, kHot + method_.hot.size()}, {kCold, kCold + method_.cold.size()}};
  }
  Method method_ = method_of(GetParam());
  memory::BufferMemory memory_;
  std::vector<AddressRange> ranges_;
};

TEST_P(DecodedPieces, ARangeWithoutCodeIsNoPiece) {
  ranges_[1].end = ranges_[1].begin;
  for (const JitCode& code : decoded_pieces(method_.arch, memory_, ranges_, 7, true)) EXPECT_FALSE(code.range.empty());
}

TEST_P(DecodedPieces, ABodyItsFuncletAndItsColdPart) {
  const auto pieces = decoded_pieces(method_.arch, memory_, ranges_, 7, true);
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[0].range, (AddressRange{kHot, kHot + method_.funclet}));
  EXPECT_EQ(pieces[0].part, JitPart::body);
  EXPECT_EQ(pieces[0].frame_size, method_.frame);
  EXPECT_EQ(pieces[1].range, (AddressRange{kHot + method_.funclet, ranges_[0].end}));
  EXPECT_EQ(pieces[1].part, JitPart::funclet);
  EXPECT_EQ(pieces[1].frame_size, method_.funclet_frame);
  EXPECT_EQ(pieces[2].range, ranges_[1]);
  EXPECT_EQ(pieces[2].part, JitPart::cold);
  EXPECT_EQ(pieces[2].frame_size, method_.frame) << "in the frame of the body";
  EXPECT_EQ(pieces[2].prologue, 0);
  for (const JitCode& code : pieces) {
    EXPECT_EQ(code.method, 7u);
    EXPECT_TRUE(code.may_be_freed);
    EXPECT_EQ(code.source, FrameSource::prologue);
    EXPECT_GT(code.kept, 0);
  }
}

TEST_P(DecodedPieces, RulesOfTheMapAreMarkedAndHoldInEpilogues) {
  JitMap map;
  for (const JitCode& code : decoded_pieces(method_.arch, memory_, ranges_, 7, false)) ASSERT_TRUE(map.add(code));
  EXPECT_EQ(map.account().by_source[static_cast<std::size_t>(FrameSource::prologue)], 3u);
  const ImageList images;
  const ManagedCode rules(method_.arch, map, images);
  self_walk::CodeRules::Answer unused;
  const auto cfa = [&](CodeAddress pc) {
    const auto rule = rules.general(pc, memory_);
    EXPECT_TRUE(rule && rule->trust == Trust::prologue) << pc.raw() - kHot;
    EXPECT_FALSE(rules.compact(pc, memory_, unused)) << "a small rule would be believed";
    return rule ? std::pair(unsigned{rule->cfa_register}, rule->cfa_offset) : std::pair(0u, 0);
  };
  const arch::Cpu& cpu = arch::cpu(method_.arch);
  const int pushed = cpu.has_link_register() ? 0 : 8;
  const int record = method_.arch == Arch::aarch64 ? 48 : 16;  // where x29 and rbp point in their frames
  EXPECT_EQ(cfa(CodeAddress::exact(kHot)), std::pair(cpu.registers.sp, pushed));
  EXPECT_EQ(cfa(CodeAddress::after_call(kHot + method_.in_body)), std::pair(cpu.registers.fp, record));
  EXPECT_EQ(cfa(CodeAddress::exact(kHot + method_.in_epilogue)), std::pair(cpu.registers.sp, pushed));
  EXPECT_TRUE(rules.knows(CodeAddress::exact(kCold), memory_));
  EXPECT_FALSE(rules.knows(CodeAddress::exact(kCold + 0x1000), memory_));
}

TEST_P(DecodedPieces, WhatIsNotThereToBeRead) {
  const std::vector<AddressRange> nowhere{{0x7e0000000000, 0x7e0000000100}};
  const auto pieces = decoded_pieces(method_.arch, memory_, nowhere, 7, false);
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].source, FrameSource::none);
  EXPECT_EQ(pieces[0].kept, 0);
  EXPECT_TRUE(decoded_pieces(method_.arch, memory_, {}, 7, false).empty());
}

INSTANTIATE_TEST_SUITE_P(Cpu, DecodedPieces, testing::Values(Arch::x86_64, Arch::aarch64),
                         [](const auto& cpu) { return std::string(arch::cpu(cpu.param).name); });

}  // namespace
}  // namespace mixstack::agent
