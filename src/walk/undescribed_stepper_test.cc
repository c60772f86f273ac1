#include "walk/undescribed_stepper.h"

#include <gtest/gtest.h>

#include <array>

#include "memory/buffer_memory.h"

namespace mixstack::walk {
namespace {

constexpr Address kStub = 0x10000, kManaged = 0x20000, kStack = 0x7000;

/// A stack of two words below `sp`, and a managed method with `call rel32` (E8) right before kManaged + 0x15.
struct Scene {
  memory::BufferMemory code;
  std::array<std::uint64_t, 2> words{};
  Registers registers{Arch::x86_64};

  Scene(std::uint64_t at_sp, std::uint64_t above) : words{at_sp, above} {
    std::array<std::byte, 64> method{};
    method[0x10] = std::byte{0xe8};
    code.add(kManaged, method);
    registers.set_pc(kStub + 8);
    registers.set_sp(kStack);
  }
  StepOutcome step(Cursor& cursor) {
    UndescribedStepper stepper({{kStub, kStub + 0x1000}}, code,
                               [](Frame& f) { return f.pc.lookup() >= kManaged && f.pc.lookup() < kManaged + 64; });
    cursor.registers = registers;
    cursor.frame = Frame{.pc = CodeAddress::exact(registers.pc()), .sp = kStack};
    cursor.frame.is_interrupted = true;
    EXPECT_TRUE(stepper.claim(cursor.frame));
    ThreadInput thread;
    thread.stack = {kStack, reinterpret_cast<const std::byte*>(words.data()), sizeof words, nullptr};
    return stepper.step(cursor, thread);
  }
};

TEST(UndescribedStepper, TakesTheReturnAddressAtSp) {
  Scene s(kManaged + 0x15, 0);
  Cursor c;
  const auto o = s.step(c);
  ASSERT_EQ(o.status, StepStatus::caller);
  EXPECT_EQ(o.trust, Trust::inferred);
  EXPECT_EQ(c.registers.pc(), kManaged + 0x15);
  EXPECT_EQ(c.registers.sp(), kStack + 8);
}

TEST(UndescribedStepper, LooksBehindOneSavedRegister) {
  Scene s(0x1234, kManaged + 0x15);
  Cursor c;
  ASSERT_EQ(s.step(c).status, StepStatus::caller);
  EXPECT_EQ(c.registers.sp(), kStack + 16);
}

TEST(UndescribedStepper, RestoresAFramePointerThatWasJustSaved) {
  Scene s(0x7777, kManaged + 0x15);
  s.registers.set_fp(kStack);
  Cursor c;
  ASSERT_EQ(s.step(c).status, StepStatus::caller);
  EXPECT_EQ(c.registers.fp(), 0x7777u);
}

TEST(UndescribedStepper, RefusesAnAddressWithoutACallBeforeIt) {
  Scene s(kManaged + 0x20, kManaged + 0x21);
  Cursor c;
  EXPECT_EQ(s.step(c).status, StepStatus::failed);
}

TEST(UndescribedStepper, ClaimsOnlyExecutableMemory) {
  memory::BufferMemory code;
  UndescribedStepper stepper({{kStub, kStub + 0x1000}}, code, [](Frame&) { return true; });
  Frame f{.pc = CodeAddress::exact(kStub + 0x1000)};
  EXPECT_FALSE(stepper.claim(f));
  f.pc = CodeAddress::exact(kStub);
  EXPECT_TRUE(stepper.claim(f));
}

}  // namespace
}  // namespace mixstack::walk
