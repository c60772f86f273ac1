#include "engine/walk/undescribed_stepper.h"

#include <gtest/gtest.h>

#include <array>

#include "base/memory/buffer_memory.h"

namespace mixstack::walk {
namespace {

constexpr Address kStub = 0x10000, kManaged = 0x20000, kAbsent = 0x30000, kNative = 0x40000, kStack = 0x7000;

/// A stack of three words at `sp`, and a managed method with `call rel32` (E8) right before kManaged + 0x15.
struct Scene {
  memory::BufferMemory code;
  std::array<std::uint64_t, 3> words{};
  Registers registers{Arch::x86_64};

  Scene(std::uint64_t at_sp, std::uint64_t above, std::uint64_t third = 0) : words{at_sp, above, third} {
    std::array<std::byte, 64> method{};
    method[0x10] = std::byte{0xe8};
    code.add(kManaged, method);
    registers.set_pc(kStub + 8);
    registers.set_sp(kStack);
  }
  /// Code that is there; two methods, one behind the other, whose code is not; native code that is not, either.
  static bool is_described(Frame& f) {
    const Address pc = f.pc.lookup();
    if (pc >= kManaged && pc < kManaged + 64) return true;
    if (pc >= kAbsent && pc < kAbsent + 128) {
      f.kind = FrameKind::managed;
      f.method_start = pc < kAbsent + 64 ? kAbsent : kAbsent + 64;
      return true;
    }
    f.kind = FrameKind::native;
    return pc >= kNative && pc < kNative + 64;
  }
  StepOutcome step(Cursor& cursor, FrameKind kind = FrameKind::undescribed) {
    UndescribedStepper stepper({{kStub, kStub + 0x1000}}, code, is_described);
    cursor.registers = registers;
    cursor.frame = Frame{.pc = CodeAddress::exact(registers.pc()), .sp = kStack};
    cursor.frame.is_interrupted = true;
    EXPECT_TRUE(stepper.claim(cursor.frame));
    cursor.frame.kind = kind;
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

TEST(UndescribedStepper, LooksBehindWhatADelayLoadThunkPushes) {
  Scene s(0x1234, 3, kManaged + 0x15);
  Cursor c;
  EXPECT_EQ(s.step(c).status, StepStatus::failed);
  ASSERT_EQ(s.step(c, FrameKind::runtime_stub).status, StepStatus::caller);
  EXPECT_EQ(c.registers.sp(), kStack + 24);
}

/// As in small cores.
TEST(UndescribedStepper, WhereThereIsNoCodeAMethodMustLieAround) {
  Cursor c;
  ASSERT_EQ(Scene(kAbsent + 0x15, 0).step(c).status, StepStatus::caller);
  EXPECT_EQ(c.registers.pc(), kAbsent + 0x15);
  EXPECT_EQ(Scene(kAbsent, 0).step(c).status, StepStatus::failed) << "a pointer to a method";
  EXPECT_EQ(Scene(kAbsent + 64, 0).step(c).status, StepStatus::failed) << "to one behind another";
  EXPECT_EQ(Scene(kNative + 8, kAbsent + 0x15).step(c).status, StepStatus::failed) << "it may have been the caller";
  EXPECT_EQ(Scene(0x50000, 0).step(c).status, StepStatus::failed);
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
