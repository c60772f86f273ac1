#include "engine/walk/pe_image_stepper.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "support/pe_builder.h"
#include "support/sparse_memory.h"

namespace mixstack::walk {
namespace {

using L = test::PeLayoutOf;

constexpr Address kBase = 0x7f0000000000, kStack = 0x7ffd00001000, kReturn = kBase + 0x1444;
constexpr std::uint32_t kUnwind = L::kData + 0x800;
constexpr std::size_t kExceptions = 0x80 + 24 + 112 + 3 * 8;  // the data directory, in the header

/// An image of two functions with a gap between them, as the runtime maps it. Both are `push rbp; sub rsp, 0x20`.
struct Scene {
  test::SparseMemory memory;
  images::ModuleMap modules;
  std::array<std::uint64_t, 8> words{};

  explicit Scene(std::uint32_t bytes_of_rows = 24) {
    auto file = test::build_pe({});
    test::detail::place(file, kExceptions, L::kData);
    test::detail::place(file, kExceptions + 4, bytes_of_rows);
    memory.map(kBase, L::kImageSize);
    const std::span<const std::byte> bytes(file);
    memory.put_bytes(kBase, bytes.first(0x400));
    memory.put_bytes(kBase + L::kCode, bytes.subspan(L::kCodeOffset, L::kCodeSize));
    // A PE section that shares its file page with the headers shows them at the begin of its own page.
    memory.put_bytes(kBase + (L::kCode & ~0xfffU), bytes.first(0x400));
    std::uint32_t at = L::kData;
    for (const std::uint32_t word : {0x1410u, 0x1450u, kUnwind, 0x1500u, 0x1520u, kUnwind}) {
      memory.put_u32(kBase + at, word);
      at += 4;
    }
    // Version 1; a prologue of 5 bytes; 2 codes: at 5 UWOP_ALLOC_SMALL of 0x20, at 1 UWOP_PUSH_NONVOL of rbp.
    const std::array<std::uint8_t, 8> info{1, 5, 2, 0, 5, 3 << 4 | 2, 1, 5 << 4 | 0};
    memory.put_bytes(kBase + kUnwind, std::as_bytes(std::span(info)));
    const std::vector<Region> regions{test::pe_mapping(kBase, 0, 0x1000, 0, false),
                                      test::pe_mapping(kBase, 0x1000, 0x1000, 0, true),
                                      test::pe_mapping(kBase, 0x3000, 0x1000, 0x1000, false)};
    modules = images::ModuleMap::build(regions, memory, nullptr);
  }

  [[nodiscard]] PeImageStepper stepper() const { return {modules, memory, Arch::x86_64, 0}; }
  [[nodiscard]] bool claims(std::uint32_t rva) const {
    Frame frame{.pc = CodeAddress::exact(kBase + rva)};
    return stepper().claim(frame);
  }
  [[nodiscard]] StepOutcome step(std::uint32_t rva, Registers& registers) {
    PeImageStepper own = stepper();
    Cursor cursor;
    cursor.registers = Registers(Arch::x86_64);
    cursor.registers.set_pc(kBase + rva);
    cursor.registers.set_sp(kStack);
    cursor.registers.set_fp(0x1234);
    cursor.frame = Frame{.pc = CodeAddress::exact(kBase + rva), .sp = kStack};
    EXPECT_TRUE(own.claim(cursor.frame));
    EXPECT_EQ(cursor.frame.kind, FrameKind::native);
    EXPECT_EQ(cursor.frame.module_offset, rva);
    ThreadInput thread;
    thread.stack = {kStack, reinterpret_cast<const std::byte*>(words.data()), sizeof words, nullptr};
    const StepOutcome outcome = own.step(cursor, thread);
    registers = cursor.registers;
    return outcome;
  }
};

TEST(PeImageStepper, ClaimsWhatARowCovers) {
  const Scene s;
  ASSERT_EQ(s.modules.modules().size(), 1u);
  ASSERT_EQ(s.modules.modules()[0].kind, images::ModuleKind::pe);
  for (const std::uint32_t rva : {0x1410u, 0x144fu, 0x1500u, 0x151fu}) EXPECT_TRUE(s.claims(rva)) << rva;
  for (const std::uint32_t rva : {0x1400u, 0x1450u, 0x14ffu, 0x1520u, 0x3000u, 0x9000u})
    EXPECT_FALSE(s.claims(rva)) << rva;
}

TEST(PeImageStepper, StepsFromTheBodyByUnwindCodes) {
  Scene s;
  s.words = {1, 2, 3, 4, 0x7777, kReturn};
  Registers caller;
  const StepOutcome o = s.step(0x1420, caller);
  ASSERT_EQ(o.status, StepStatus::caller);
  EXPECT_EQ(o.trust, Trust::certain);
  EXPECT_EQ(caller.pc(), kReturn);
  EXPECT_EQ(caller.sp(), kStack + 0x30);
  EXPECT_EQ(caller.fp(), 0x7777u);
}

TEST(PeImageStepper, StepsFromTheFirstInstruction) {
  Scene s;
  s.words = {kReturn};
  Registers caller;
  ASSERT_EQ(s.step(0x1500, caller).status, StepStatus::caller);
  EXPECT_EQ(caller.pc(), kReturn);
  EXPECT_EQ(caller.sp(), kStack + 8);
  EXPECT_EQ(caller.fp(), 0x1234u);
}

TEST(PeImageStepper, AnUnreadableTableClaimsNothing) {
  for (const std::uint32_t bytes : {0u, 11u, 0xffffffffu, 0x8000000u})
    EXPECT_FALSE(Scene(bytes).claims(0x1420)) << bytes;
}

TEST(PeImageStepper, UnwindCodesOfAnotherVersionAreAnError) {
  Scene s;
  s.memory.put_u8(kBase + kUnwind, 7);
  Registers same;
  const StepOutcome o = s.step(0x1420, same);
  EXPECT_EQ(o.status, StepStatus::failed);
  EXPECT_NE(o.error.code, ErrorCode::none);
  EXPECT_EQ(same.sp(), kStack);
}

}  // namespace
}  // namespace mixstack::walk
