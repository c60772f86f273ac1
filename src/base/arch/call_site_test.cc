#include "base/arch/call_site.h"

#include <capstone/capstone.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "support/byte_lists.h"
#include "support/host_cpu.h"

namespace mixstack::arch {
namespace {

std::optional<CallSite> before(Arch arch, std::initializer_list<unsigned> bytes, Address ra = 0x1000) {
  return call_before(arch, test::bytes_of(bytes), ra);
}

TEST(CallSite, X8664DirectCallHasATarget) {
  const auto site = before(Arch::x86_64, {0x90, 0x90, 0x90, 0xe8, 0xfb, 0xff, 0xff, 0xff});
  ASSERT_TRUE(site);
  EXPECT_EQ(site->length, 5u);
  EXPECT_EQ(site->target, 0xffbu);
}

// Every ModRM and SIB of FF /2: capstone says how long the instruction is.
TEST(CallSite, X8664IndirectFormsAgreeWithCapstone) {
  csh handle = 0;
  ASSERT_EQ(cs_open(CS_ARCH_X86, CS_MODE_64, &handle), CS_ERR_OK);
  unsigned calls = 0;
  for (unsigned modrm = 0; modrm < 256; modrm++) {
    for (unsigned sib = 0; sib < 256; sib++) {
      const std::uint8_t code[8] = {0xff, static_cast<std::uint8_t>(modrm), static_cast<std::uint8_t>(sib), 1, 2, 3, 4,
                                    5};
      cs_insn* insn = nullptr;
      const std::size_t n = cs_disasm(handle, code, sizeof code, 0, 1, &insn);
      const bool is_call = n == 1 && insn->id == X86_INS_CALL;
      const std::size_t length = n == 1 ? insn->size : 0;
      if (n == 1) cs_free(insn, n);
      if (!is_call) continue;
      calls++;
      const auto site = call_before(Arch::x86_64, std::as_bytes(std::span(code)).first(length), 0x1000);
      ASSERT_TRUE(site) << std::hex << modrm << " " << sib;
      EXPECT_LE(site->length, length);
      // `ff 94 e8 disp32` ends like a direct call; nothing but the bytes before could tell.
      EXPECT_TRUE(!site->target || sib == 0xe8) << std::hex << modrm << " " << sib;
    }
  }
  EXPECT_EQ(calls, 256u * 32u);
  cs_close(&handle);
}

TEST(CallSite, X8664OthersAreNone) {
  EXPECT_FALSE(before(Arch::x86_64, {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90}));
  EXPECT_FALSE(before(Arch::x86_64, {0xff, 0xe0}));        // jmp rax
  EXPECT_FALSE(before(Arch::x86_64, {0xff, 0x14}));        // SIB missing
  EXPECT_FALSE(before(Arch::x86_64, {0xe9, 0, 0, 0, 0}));  // jmp
  EXPECT_FALSE(before(Arch::x86_64, {0xd0}));
  EXPECT_FALSE(before(Arch::x86_64, {}));
  EXPECT_TRUE(before(Arch::x86_64, {0x41, 0xff, 0xd3}));                    // call r11
  EXPECT_TRUE(before(Arch::x86_64, {0x3e, 0xff, 0xd0}));                    // notrack call rax
  EXPECT_TRUE(before(Arch::x86_64, {0x64, 0xff, 0x14, 0x25, 0, 1, 0, 0}));  // call fs:[0x100]
}

// Every call of libc's text, found linearly by capstone, is found from behind.
TEST(CallSite, X8664FindsEveryCallOfThisProgram) {
  if (test::kHostCpu != Arch::x86_64) GTEST_SKIP() << "this program is of another CPU";
  std::ifstream self("/proc/self/exe", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(self)), std::istreambuf_iterator<char>());
  csh handle = 0;
  ASSERT_EQ(cs_open(CS_ARCH_X86, CS_MODE_64, &handle), CS_ERR_OK);
  cs_option(handle, CS_OPT_SKIPDATA, CS_OPT_ON);
  cs_insn* insn = cs_malloc(handle);
  const auto* code = reinterpret_cast<const std::uint8_t*>(text.data());
  std::size_t size = std::min<std::size_t>(text.size(), 8 << 20);
  std::uint64_t address = 0;
  unsigned calls = 0;
  while (cs_disasm_iter(handle, &code, &size, &address, insn)) {
    const std::uint8_t opcode = insn->size >= 2 ? insn->bytes[insn->size - 2] : 0;
    if (insn->id != X86_INS_CALL || opcode == 0x66) continue;
    if (insn->bytes[0] == 0x66) continue;  // a 16-bit form that no compiler emits
    calls++;
    const std::size_t start = insn->address + insn->size - std::min<std::size_t>(8, insn->address + insn->size);
    const auto window = std::as_bytes(std::span(text)).subspan(start, insn->address + insn->size - start);
    EXPECT_TRUE(call_before(Arch::x86_64, window, address)) << std::hex << insn->address << " " << insn->op_str;
  }
  EXPECT_GT(calls, 1000u);
  cs_free(insn, 1);
  cs_close(&handle);
}

TEST(CallSite, Aarch64) {
  const auto bl = before(Arch::aarch64, {0xff, 0xff, 0xff, 0x97});  // bl .-4
  ASSERT_TRUE(bl);
  EXPECT_EQ(bl->target, 0xff8u);
  EXPECT_TRUE(before(Arch::aarch64, {0x00, 0x02, 0x3f, 0xd6}));   // blr x16
  EXPECT_TRUE(before(Arch::aarch64, {0x1f, 0x09, 0x3f, 0xd6}));   // blraaz x8
  EXPECT_TRUE(before(Arch::aarch64, {0x1f, 0x0d, 0x3f, 0xd6}));   // blrabz x8
  EXPECT_TRUE(before(Arch::aarch64, {0x09, 0x09, 0x3f, 0xd7}));   // blraa x8, x9
  EXPECT_TRUE(before(Arch::aarch64, {0x09, 0x0d, 0x3f, 0xd7}));   // blrab x8, x9
  EXPECT_FALSE(before(Arch::aarch64, {0x00, 0x02, 0x1f, 0xd6}));  // br x16
  EXPECT_FALSE(before(Arch::aarch64, {0xc0, 0x03, 0x5f, 0xd6}));  // ret
  EXPECT_FALSE(before(Arch::aarch64, {0xff, 0xff, 0xff, 0x17}));  // b
  EXPECT_FALSE(before(Arch::aarch64, {0xff, 0xff, 0xff, 0x97}, 0x1002));
  EXPECT_FALSE(before(Arch::aarch64, {0xff, 0xff, 0x97}));
}

// Random words: what capstone calls bl or blr, and nothing else but the authenticated forms it does not know.
TEST(CallSite, Aarch64AgreesWithCapstone) {
  csh handle = 0;
  ASSERT_EQ(cs_open(CS_ARCH_ARM64, CS_MODE_ARM, &handle), CS_ERR_OK);
  std::mt19937 random(1);
  for (unsigned i = 0; i < 200000; i++) {
    auto word = static_cast<std::uint32_t>(random());
    if (i % 4 == 0) word = 0xd63f0000u | (word & 0x3ffu);
    if (i % 4 == 1) word = 0xd6000000u | (word & 0xffffffu);
    std::uint8_t bytes[4];
    std::memcpy(bytes, &word, 4);
    cs_insn* insn = nullptr;
    const std::size_t n = cs_disasm(handle, bytes, 4, 0, 1, &insn);
    const bool call = n == 1 && (insn->id == ARM64_INS_BL || insn->id == ARM64_INS_BLR);
    if (n == 1) cs_free(insn, n);
    const bool authenticated = (word & 0xfe000000u) == 0xd6000000u && (word & 0x800u) != 0;
    const bool ours = call_before(Arch::aarch64, std::as_bytes(std::span(bytes)), 0x1000).has_value();
    if (!authenticated) {
      EXPECT_EQ(ours, call) << std::hex << word;
    }
  }
  cs_close(&handle);
}

TEST(CallSite, OtherCpus) {
  EXPECT_EQ(before(Arch::x86, {0xe8, 0xfb, 0xff, 0xff, 0xff}, 0)->target, 0xfffffffbu);
  EXPECT_FALSE(before(Arch::arm, {0xff, 0xff, 0xff, 0xeb}));
  EXPECT_FALSE(before(Arch::unknown, {0xe8, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace mixstack::arch
