#include "engine/unwind/plt_stub.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "engine/images/elf_image.h"
#include "engine/images/file_bytes.h"
#include "support/host_cpu.h"

namespace mixstack::unwind {
namespace {

// As `aarch64-linux-gnu-objdump -d` shows them of libraries linked by GNU ld and by lld -z pac-plt.
const std::vector<std::uint32_t> kFirst{0xa9bf7bf0, 0xf00000f0, 0xf947fe11, 0x913fe210, 0xd61f0220, 0xd503201f};
const std::vector<std::uint32_t> kEntry{0x90000110, 0xf9400211, 0x91000210, 0xd61f0220};
const std::vector<std::uint32_t> kSignedEntry{0xd503245f, 0x90000110, 0xf9400211, 0x91000210, 0xd503219f, 0xd61f0220};
constexpr std::uint32_t kNop = 0xd503201f;

std::vector<std::byte> code_of(const std::vector<std::uint32_t>& words) {
  std::vector<std::byte> bytes(words.size() * 4);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

/// The rule at each instruction of `words` between others: the CFA's offset, or -1 where there is none.
std::vector<int> offsets(const std::vector<std::uint32_t>& words) {
  std::vector<std::uint32_t> all(8, kNop);
  all.insert(all.end(), words.begin(), words.end());
  all.insert(all.end(), 8, kNop);
  const auto code = code_of(all);
  std::vector<int> out;
  for (std::size_t i = 8; i < 8 + words.size(); i++) {
    const auto rule = match_plt_stub(Arch::aarch64, code, i * 4);
    out.push_back(rule ? rule->cfa_offset : -1);
    if (rule) {
      EXPECT_EQ(rule->trust, Trust::certain);
      EXPECT_EQ(rule->count, rule->cfa_offset == 16 ? 1 : 0);
    }
  }
  return out;
}

TEST(PltStub, EntriesLeaveTheReturnAddressWhereItWas) {
  EXPECT_EQ(offsets(kEntry), (std::vector<int>{0, 0, 0, 0}));
  EXPECT_EQ(offsets(kSignedEntry), (std::vector<int>{0, 0, 0, 0, 0, 0}));
}

TEST(PltStub, TheFirstOneSavesIt) { EXPECT_EQ(offsets(kFirst), (std::vector<int>{0, 16, 16, 16, 16, -1})); }

TEST(PltStub, AnEntryBehindTheFirstIsNotPartOfIt) {
  auto both = kFirst;
  both.insert(both.end(), {kNop, kNop});
  both.insert(both.end(), kEntry.begin(), kEntry.end());
  EXPECT_EQ(offsets(both), (std::vector<int>{0, 16, 16, 16, 16, -1, -1, -1, 0, 0, 0, 0}));
}

TEST(PltStub, NothingElseIsOne) {
  for (std::size_t i = 0; i < kEntry.size(); i++) {
    auto other = kEntry;
    other[i] ^= 1;
    EXPECT_EQ(offsets(other), (std::vector<int>{-1, -1, -1, -1})) << i;
  }
  const auto code = code_of(kEntry);
  for (std::size_t size = 0; size < code.size(); size++)
    EXPECT_FALSE(match_plt_stub(Arch::aarch64, std::span(code).first(size), 0)) << size;
  EXPECT_FALSE(match_plt_stub(Arch::aarch64, code, 1000));
  EXPECT_FALSE(match_plt_stub(Arch::x86_64, code, 0)) << "it has call frame information";
}

/// Every stub that the symbol table finds in a real library of this CPU.
TEST(PltStub, EveryStubOfALibrary) {
  const auto file = images::open_file_bytes(test::kLibstdcxx);
  ASSERT_TRUE(file);
  const auto image = images::ElfImage::from_file(*file);
  ASSERT_TRUE(image);
  if ((*image)->arch() != Arch::aarch64) GTEST_SKIP() << "its stubs have call frame information";
  const auto section = (*image)->section(".plt");
  ASSERT_TRUE(section);
  std::size_t found = 0;
  for (std::size_t at = 0; at + 4 <= section->bytes.size(); at += 4)
    found += match_plt_stub(Arch::aarch64, section->bytes, at) ? 1u : 0u;
  EXPECT_GT(found * 10, section->bytes.size() / 4 * 9);
}

}  // namespace
}  // namespace mixstack::unwind
