// Frames of methods from their code: forms that a JIT emits, written out, and every instruction of .NET images.
#include "engine/unwind/prologue/method_frame.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "base/system/byte_cursor.h"
#include "engine/unwind/windows/amd64/rule.h"
#include "engine/unwind/windows/arm64/rule.h"
#include "engine/unwind/windows/format.h"
#include "support/aarch64_simulator.h"
#include "support/byte_lists.h"
#include "support/mapped_pe.h"
#include "support/source_folder.h"
#include "support/x86_64_simulator.h"

namespace mixstack::unwind {
namespace {

using test::SymbolicValue;

using test::bytes_of;
using test::words_of;

Result<UnwindRule> rule_at(Arch arch, const MethodFrame& frame, std::span<const std::byte> code, std::size_t offset,
                           bool is_return_address = false) {
  const auto here = code.subspan(offset, std::min(kMostEpilogue, code.size() - offset));
  const std::size_t before = arch == Arch::aarch64 ? std::min(kBeforeHere, offset) : 0;
  return rule_in_method(arch, frame,
                        {code, code.subspan(offset - before, before), here, offset, code.size(), is_return_address});
}

/// "fp+16 fp-16 lr-8": the CFA, and where each register is saved.
std::string text(Arch arch, const Result<UnwindRule>& rule) {
  if (!rule) return "none";
  const auto name = [&](unsigned reg) { return std::string(arch::register_name(arch, reg)); };
  std::string out = name(rule->cfa_register) + "+" + std::to_string(rule->cfa_offset);
  for (unsigned i = 0; i < rule->count; i++)
    out += " " + name(rule->rules[i].reg) + std::to_string(rule->rules[i].value);
  return out;
}

// stp x29, x30, [sp, #-0x40]!; mov x29, sp; stp x19, x20, [sp, #0x10]; str x21, [sp, #0x20]; nop; bl;
// ldr x21, [sp, #0x20]; ldp x19, x20, [sp, #0x10]; ldp x29, x30, [sp], #0x40; ret
const auto kCanonical = words_of({0xa9bc7bfd, 0x910003fd, 0xa90153f3, 0xf90013f5, 0xd503201f, 0x94000010, 0xf94013f5,
                                  0xa94153f3, 0xa8c47bfd, 0xd65f03c0});

TEST(MethodFrame, TheCanonicalPrologueOfAarch64) {
  const auto frame = method_frame(Arch::aarch64, kCanonical);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->size, 0x40u);
  EXPECT_EQ(frame->prologue, 16);
  const char* const expected[] = {"sp+0",                                // nothing saved: the caller is in x30
                                  "sp+64 x29-64 x30-56",                 //
                                  "x29+64 x29-64 x30-56",                //
                                  "x29+64 x19-48 x20-40 x29-64 x30-56",  //
                                  "x29+64 x19-48 x20-40 x21-32 x29-64 x30-56",
                                  "x29+64 x19-48 x20-40 x21-32 x29-64 x30-56",
                                  "sp+64 x19-48 x20-40 x21-32 x29-64 x30-56",
                                  "sp+64 x19-48 x20-40 x29-64 x30-56",
                                  "sp+64 x29-64 x30-56",
                                  "sp+0"};
  for (std::size_t i = 0; i < std::size(expected); i++)
    EXPECT_EQ(text(Arch::aarch64, rule_at(Arch::aarch64, *frame, kCanonical, i * 4)), expected[i]) << i;
  EXPECT_EQ(text(Arch::aarch64, rule_at(Arch::aarch64, *frame, kCanonical, 24, true)), expected[4]);
}

TEST(MethodFrame, SavesFirstThenTheRecordOfAarch64) {
  // sub sp, sp, #0x60; stp x19, x20, [sp, #0x50]; stp x29, x30, [sp, #0x10]; add x29, sp, #0x10; bl; ...; add sp; ret
  const auto code = words_of(
      {0xd10183ff, 0xa90553f3, 0xa9017bfd, 0x910043fd, 0x94000010, 0xa9417bfd, 0xa94553f3, 0x910183ff, 0xd65f03c0});
  const auto frame = method_frame(Arch::aarch64, code);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->size, 0x60u);
  EXPECT_EQ(frame->prologue, 16);
  EXPECT_EQ(text(Arch::aarch64, rule_at(Arch::aarch64, *frame, code, 20, true)), "x29+80 x19-16 x20-8 x29-80 x30-72");
  EXPECT_EQ(text(Arch::aarch64, rule_at(Arch::aarch64, *frame, code, 24)), "sp+96 x19-16 x20-8") << "x30 is back";
  EXPECT_EQ(text(Arch::aarch64, rule_at(Arch::aarch64, *frame, code, 28)), "sp+96");
  EXPECT_EQ(text(Arch::aarch64, rule_at(Arch::aarch64, *frame, code, 32)), "sp+0");
}

TEST(MethodFrame, ALargeFrameOfAarch64IsMadeByARegister) {
  // stp x29, x30, [sp, #-0x10]!; movz x9, #0x4000; movk x9, #2, lsl #16; sub sp, sp, x9; mov x29, sp; bl
  const auto code = words_of({0xa9bf7bfd, 0xd2880009, 0xf2a00049, 0xcb2963ff, 0x910003fd, 0x94000010});
  const auto frame = method_frame(Arch::aarch64, code);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->size, 0x24010u);
  // x29 does not point to the record here; sp and the CFA are what is known.
  EXPECT_EQ(text(Arch::aarch64, rule_at(Arch::aarch64, *frame, code, 20)), "sp+147472 x29-16 x30-8");
}

TEST(MethodFrame, LandingPadsShadowStacksAndSignedAddresses) {
  // bti c; str x30, [x18], #8; paciasp; stp x29, x30, [sp, #-0x20]!; mov x29, sp; bl;
  // ldp x29, x30, [sp], #0x20; autiasp; ldr x30, [x18, #-8]!; ret
  const auto code = words_of({0xd503245f, 0xf800865e, 0xd503233f, 0xa9be7bfd, 0x910003fd, 0x94000010, 0xa8c27bfd,
                              0xd50323bf, 0xf85f8e5e, 0xd65f03c0});
  const auto frame = method_frame(Arch::aarch64, code);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->size, 0x20u);
  EXPECT_EQ(frame->prologue, 20);
  const auto body = rule_at(Arch::aarch64, *frame, code, 24, true);
  EXPECT_EQ(text(Arch::aarch64, body), "x29+32 x29-32 x30-24");
  EXPECT_TRUE(body->ra_is_signed);
  EXPECT_EQ(text(Arch::aarch64, rule_at(Arch::aarch64, *frame, code, 4)), "sp+0");
  EXPECT_EQ(text(Arch::aarch64, rule_at(Arch::aarch64, *frame, code, 12)), "sp+0");
}

TEST(MethodFrame, ALeafKeepsItsReturnAddressInTheLinkRegister) {
  const auto code = words_of({0x8b010000, 0xd65f03c0});  // add x0, x0, x1; ret
  const auto frame = method_frame(Arch::aarch64, code);
  ASSERT_TRUE(frame);
  EXPECT_EQ(text(Arch::aarch64, rule_at(Arch::aarch64, *frame, code, 4)), "sp+0");
  EXPECT_FALSE(rule_at(Arch::aarch64, *frame, code, 4, true)) << "it calls nobody";
}

TEST(MethodFrame, FormsOfX8664) {
  // push rbp; push rbx; sub rsp, 0x18; lea rbp, [rsp+0x20]; call; add rsp, 0x18; pop rbx; pop rbp; rex.jmp rax
  const auto code = bytes_of({0x55, 0x53, 0x48, 0x83, 0xec, 0x18, 0x48, 0x8d, 0x6c, 0x24, 0x20, 0xe8, 0,
                              0,    0,    0,    0x48, 0x83, 0xc4, 0x18, 0x5b, 0x5d, 0x48, 0xff, 0xe0});
  const auto frame = method_frame(Arch::x86_64, code);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->size, 0x30u);
  EXPECT_EQ(frame->prologue, 11);
  const std::string body = "rbp+16 rbx-24 rbp-16 rip-8";
  const std::pair<std::size_t, std::string> expected[] = {{0, "rsp+8 rip-8"},
                                                          {1, "rsp+16 rbp-16 rip-8"},
                                                          {2, "rsp+24 rbx-24 rbp-16 rip-8"},
                                                          {11, body},
                                                          {16, "rsp+48 rbx-24 rbp-16 rip-8"},
                                                          {20, "rsp+24 rbx-24 rbp-16 rip-8"},
                                                          {21, "rsp+16 rbp-16 rip-8"},
                                                          {22, "rsp+8 rip-8"}};
  for (const auto& [offset, rule] : expected)
    EXPECT_EQ(text(Arch::x86_64, rule_at(Arch::x86_64, *frame, code, offset)), rule) << offset;
  EXPECT_EQ(text(Arch::x86_64, rule_at(Arch::x86_64, *frame, code, 16, true)), body);
}

TEST(MethodFrame, TheProbeOfALargeFrameIsPartOfThePrologue) {
  // push rbp; lea r11, [rsp-0x5000]; call; mov rsp, r11; lea rbp, [rsp+0x5000]; call
  const auto code = bytes_of({0x55, 0x4c, 0x8d, 0x9c, 0x24, 0x00, 0xb0, 0xff, 0xff, 0xe8, 0,    0, 0, 0, 0x49,
                              0x8b, 0xe3, 0x48, 0x8d, 0xac, 0x24, 0x00, 0x50, 0x00, 0x00, 0xe8, 0, 0, 0, 0});
  const auto frame = method_frame(Arch::x86_64, code);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->size, 0x5010u);
  EXPECT_EQ(frame->prologue, 25);
  EXPECT_EQ(text(Arch::x86_64, rule_at(Arch::x86_64, *frame, code, 14, true)), "rsp+16 rbp-16 rip-8") << "in the probe";
  EXPECT_EQ(text(Arch::x86_64, rule_at(Arch::x86_64, *frame, code, 30, true)), "rbp+16 rbp-16 rip-8");
}

TEST(MethodFrame, AJumpOfASwitchIsNoEpilogue) {
  // push rbp; mov rbp, rsp; jmp rax
  const auto code = bytes_of({0x55, 0x48, 0x89, 0xe5, 0xff, 0xe0});
  const auto frame = method_frame(Arch::x86_64, code);
  ASSERT_TRUE(frame);
  EXPECT_EQ(text(Arch::x86_64, rule_at(Arch::x86_64, *frame, code, 4)), "rbp+16 rbp-16 rip-8");
}

TEST(MethodFrame, WhatIsRestoredFromElsewhereIsNoEpilogue) {
  // push rbp; push rbx; mov rbp, rsp; mov rbx, [rbp-8]; pop rbx; pop rbp; ret: rbx is loaded twice
  const auto code = bytes_of({0x55, 0x53, 0x48, 0x89, 0xe5, 0x48, 0x8b, 0x5d, 0xf8, 0x5b, 0x5d, 0xc3});
  const auto frame = method_frame(Arch::x86_64, code);
  ASSERT_TRUE(frame);
  EXPECT_EQ(text(Arch::x86_64, rule_at(Arch::x86_64, *frame, code, 9)), "rsp+24 rbx-24 rbp-16 rip-8");
  EXPECT_EQ(text(Arch::x86_64, rule_at(Arch::x86_64, *frame, code, 5)), "rsp+24 rbx-24 rbp-16 rip-8");
}

TEST(MethodFrame, BytesThatAreNoCode) {
  for (const Arch arch : {Arch::x86_64, Arch::aarch64}) {
    const auto nothing = method_frame(arch, {});
    EXPECT_TRUE(!nothing || nothing->prologue == 0);
    const auto junk = method_frame(arch, std::vector<std::byte>(64, std::byte{0x06}));
    EXPECT_TRUE(!junk || junk->prologue == 0);
  }
  EXPECT_FALSE(method_frame(Arch::x86_64, bytes_of({0x06, 0x06})));
  EXPECT_FALSE(method_frame(Arch::arm, kCanonical));
}

TEST(MethodFrame, AFuncletBeginsWithAPrologueOfItsOwn) {
  auto code = kCanonical;
  const std::size_t funclet = code.size();
  // stp x29, x30, [sp, #-16]!; bl; ldp x29, x30, [sp], #16; ret
  const auto more = words_of({0xa9bf7bfd, 0x94000010, 0xa8c17bfd, 0xd65f03c0});
  code.insert(code.end(), more.begin(), more.end());
  EXPECT_EQ(next_prologue(Arch::aarch64, code, 16), funclet);
  EXPECT_EQ(next_prologue(Arch::aarch64, code, funclet + 4), std::nullopt);
}

/// Every instruction of every function of an image: what is decoded against symbolic execution and the image's data.
struct Totals {
  unsigned long functions = 0, same = 0, other = 0, right = 0, wrong = 0, declined = 0;
};

struct Cpu {
  Arch arch;
  std::uint64_t callee_saved;
  std::int64_t entry_cfa;
  SymbolicValue return_address;
};
const Cpu kX8664{Arch::x86_64, arch::x86_64::kCalleeSaved, 8, SymbolicValue::entry(x86_64_reg::rip)};
const Cpu kAarch64{Arch::aarch64, arch::aarch64::kCalleeSaved, 0, SymbolicValue::entry(aarch64_reg::lr)};

void check_function(test::CodeSimulator& simulator, std::span<const std::byte> image, windows::RuntimeFunction row,
                    std::uint32_t end, const Cpu& cpu, Totals& totals) {
  const windows::MappedUnwindData data(image);
  const auto* format = windows::format_of(cpu.arch);
  if (format->is_fragment(data, row)) return;  // its frame was made elsewhere
  const auto f = simulator.run(row.begin, end);
  const auto code = image.subspan(row.begin, f.end - row.begin);
  const auto frame = method_frame(cpu.arch, code);
  totals.functions++;
  if (!frame) {
    totals.declined++;
    return;
  }
  const auto known = format->rule(data, {row, end, true});
  const auto small = known ? compact(*known, cpu.arch) : std::nullopt;
  const bool is_same = small && is_same_frame(cpu.arch, *frame, *small);
  totals.same += is_same ? 1 : 0;
  if (!is_same && totals.other++ < 10)
    std::printf("function %x: %s, the image says %s\n", row.begin,
                text(cpu.arch, expand(frame->rule, cpu.arch)).c_str(), text(cpu.arch, known).c_str());
  const std::uint64_t preserved = cpu.callee_saved & ~f.destroyed(cpu.callee_saved);
  for (const auto& [at, state] : f.states) {
    const auto rule = rule_at(cpu.arch, *frame, code, at - row.begin);
    const std::string wrong =
        rule ? test::check_rule(*rule, state, cpu.entry_cfa, preserved, cpu.return_address) : "no rule";
    totals.right += wrong.empty() ? 1 : 0;
    if (!wrong.empty() && totals.wrong++ < 20)
      std::printf("function %x +%x: %s: %s\n", row.begin, static_cast<unsigned>(at - row.begin),
                  simulator.text(at, f.end).c_str(), wrong.c_str());
  }
}

void report(const Totals& t) {
  std::printf("functions %lu: same as the image's %lu, other %lu, declined %lu; instructions: right %lu, wrong %lu\n",
              t.functions, t.same, t.other, t.declined, t.right, t.wrong);
  EXPECT_LE(t.wrong * 10000, t.right);
  EXPECT_LE(t.other * 10000, t.same);
  EXPECT_LE(t.declined, 1 + t.same / 1000) << "registers saved more than 64 KiB below the CFA";
}

TEST(MethodFrame, X8664ImageIsDecodedAsItRuns) {
  const auto path = test::framework_file("System.Private.CoreLib.dll");
  if (path.empty()) GTEST_SKIP() << "no .NET framework installed";
  const auto pe = test::map_pe(path);
  ASSERT_TRUE(pe);
  const std::span<const std::byte> image(pe->image);
  if (image.size() < 0x1000 || pe->exception_size % 12 != 0) GTEST_SKIP() << "of another CPU";
  test::X8664Simulator simulator(image, 0);
  Totals totals;
  for (std::uint32_t i = 0; i + 12 <= pe->exception_size; i += 12 * 2) {
    base::ByteCursor cursor(image, pe->exception_rva + i);
    windows::RuntimeFunction row;
    row.begin = cursor.u32();
    row.end = cursor.u32();
    row.unwind_data = cursor.u32();
    if (row.end - row.begin < 4096) check_function(simulator, image, row, row.end, kX8664, totals);
  }
  report(totals);
}

void check_arm64(const std::filesystem::path& path) {
  const auto pe = test::map_pe(path);
  ASSERT_TRUE(pe);
  const std::span<const std::byte> image(pe->image);
  test::Aarch64Simulator simulator(image, 0);
  const windows::MappedUnwindData data(image);
  Totals totals;
  for (std::uint32_t i = 0; i + 8 <= pe->exception_size; i += 8) {
    base::ByteCursor cursor(image, pe->exception_rva + i);
    windows::RuntimeFunction row;
    row.begin = cursor.u32();
    row.unwind_data = cursor.u32();
    const auto length = windows::arm64_function_length(data, row);
    ASSERT_TRUE(length);
    if (*length < 4096) check_function(simulator, image, row, row.begin + *length, kAarch64, totals);
  }
  report(totals);
}

TEST(MethodFrame, Aarch64ImageIsDecodedAsItRuns) {
  check_arm64(std::filesystem::path(mixstack::test::source_folder()) / "tests/data/arm64_r2r/UnwindShapes.arm64.dll");
}

TEST(MethodFrame, Aarch64ImageFromEnvironment) {
  const char* image = std::getenv("MIXSTACK_R2R_ARM64");
  if (image == nullptr) GTEST_SKIP();
  check_arm64(image);
}

}  // namespace
}  // namespace mixstack::unwind
