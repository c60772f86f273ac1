#include "engine/unwind/apply.h"

#include <gtest/gtest.h>

#include "base/memory/buffer_memory.h"
#include "support/cfi_builder.h"

namespace mixstack::unwind {
namespace {

using Kind = RegisterRuleKind;

class OneExpression final : public ExpressionPool {
 public:
  explicit OneExpression(const test::Bytes& code) : code_(code) {}
  [[nodiscard]] std::span<const std::byte> expression(std::uint32_t number) const override {
    return number == 7 ? std::span<const std::byte>(code_.bytes()) : std::span<const std::byte>{};
  }

 private:
  test::Bytes code_;
};

/// Stack words at 0x1000: each word holds its own index plus 0xa000.
struct World {
  memory::BufferMemory memory;
  StackView stack;
  Registers registers{Arch::x86_64};
  UnwindRule rule;

  explicit World(Arch arch = Arch::x86_64) : registers(arch) {
    for (std::uint64_t i = 0; i < 64; i++) words_[i] = 0xa000 + i;
    stack = {0x1000, reinterpret_cast<const std::byte*>(words_.data()), sizeof(words_), &memory};
    const auto numbers = arch_registers(arch);
    for (unsigned r = 0; r < numbers.count; r++) registers.set(r, 0x500 + r);
    registers.set_sp(0x1000);
    rule.cfa_kind = CfaKind::register_offset;
    rule.cfa_register = static_cast<std::uint8_t>(numbers.sp);
    rule.cfa_offset = 32;
    rule.ra_register = static_cast<std::uint8_t>(arch == Arch::aarch64 ? aarch64_reg::lr : numbers.pc);
  }
  void add(unsigned reg, Kind kind, std::int32_t value = 0, unsigned base = 0) {
    rule.rules[rule.count++] = {static_cast<std::uint8_t>(reg), kind, static_cast<std::uint8_t>(base), 0, value};
  }
  Result<Caller> run(std::uint64_t pac_mask = 0) {
    return apply(rule, registers, CodeAddress::exact(registers.pc()), stack, pac_mask);
  }

 private:
  std::array<std::uint64_t, 64> words_{};
};

TEST(Apply, PlainFrame) {
  World w;
  w.add(x86_64_reg::rip, Kind::at_cfa_offset, -8);
  w.add(x86_64_reg::rbx, Kind::at_cfa_offset, -16);
  const auto caller = w.run();
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->cfa, 0x1020u);
  EXPECT_EQ(caller->pc, CodeAddress::after_call(0xa003));
  EXPECT_EQ(w.registers.pc(), 0xa003u);
  EXPECT_EQ(w.registers.sp(), 0x1020u);
  EXPECT_EQ(w.registers.get(x86_64_reg::rbx), 0xa002u);
  EXPECT_EQ(w.registers.get(x86_64_reg::r12), 0x500u + x86_64_reg::r12) << "preserved by the ABI";
  EXPECT_FALSE(w.registers.get(x86_64_reg::rax)) << "not preserved";
  EXPECT_FALSE(w.registers.get(x86_64_reg::r11));
}

TEST(Apply, EveryRuleKind) {
  World w;
  w.memory.add_value<std::uint64_t>(0x9000, 0x77);
  OneExpression pool({0x23, 8});  // plus_uconst 8 on the CFA
  w.rule.pool = &pool;
  w.registers.set(x86_64_reg::rdx, 0x9000);
  w.add(x86_64_reg::rip, Kind::at_cfa_offset, -8);
  w.add(x86_64_reg::rax, Kind::same_value);
  w.add(x86_64_reg::rbx, Kind::undefined);
  w.add(x86_64_reg::rcx, Kind::is_cfa_offset, -4);
  w.add(x86_64_reg::rsi, Kind::in_register, 0, x86_64_reg::rdi);
  w.add(x86_64_reg::r12, Kind::at_register_offset, 0, x86_64_reg::rdx);
  w.add(x86_64_reg::r13, Kind::at_expression, 7);
  w.add(x86_64_reg::r14, Kind::is_expression, 7);
  w.add(x86_64_reg::r15, Kind::is_expression, 8);  // no such expression
  ASSERT_TRUE(w.run());
  EXPECT_EQ(w.registers.get(x86_64_reg::rax), 0x500u);
  EXPECT_FALSE(w.registers.get(x86_64_reg::rbx));
  EXPECT_EQ(w.registers.get(x86_64_reg::rcx), 0x101cu);
  EXPECT_EQ(w.registers.get(x86_64_reg::rsi), 0x500u + x86_64_reg::rdi);
  EXPECT_EQ(w.registers.get(x86_64_reg::r12), 0x77u);
  EXPECT_EQ(w.registers.get(x86_64_reg::r13), 0xa005u);
  EXPECT_EQ(w.registers.get(x86_64_reg::r14), 0x1028u);
  EXPECT_FALSE(w.registers.get(x86_64_reg::r15)) << "what cannot be computed is unknown";
}

TEST(Apply, RulesReadTheCalleeNotEachOther) {
  World w;
  w.add(x86_64_reg::rbx, Kind::in_register, 0, x86_64_reg::r12);
  w.add(x86_64_reg::r12, Kind::in_register, 0, x86_64_reg::rbx);
  w.add(x86_64_reg::rip, Kind::at_cfa_offset, -8);
  ASSERT_TRUE(w.run());
  EXPECT_EQ(w.registers.get(x86_64_reg::rbx), 0x50cu);
  EXPECT_EQ(w.registers.get(x86_64_reg::r12), 0x503u);
}

TEST(Apply, CfaKinds) {
  World deref;
  deref.rule.cfa_kind = CfaKind::deref_register_offset;
  deref.rule.cfa_offset = 16;
  deref.memory.add_value<std::uint64_t>(0xa002 - 8, 0x1234);
  deref.add(x86_64_reg::rip, Kind::at_cfa_offset, -8);
  const auto d = deref.run();
  ASSERT_TRUE(d);
  EXPECT_EQ(d->cfa, 0xa002u);
  EXPECT_EQ(d->pc.raw(), 0x1234u);
  for (const auto& [pc, expected] : {std::pair{0x4000u, 0x1008u}, {0x400au, 0x1008u}, {0x400bu, 0x1010u}}) {
    World plt;
    plt.rule.cfa_kind = CfaKind::plt;
    plt.rule.cfa_offset = 8;
    plt.rule.plt_step = 11;
    plt.registers.set_pc(pc);
    plt.add(x86_64_reg::rip, Kind::at_cfa_offset, -8);
    EXPECT_EQ(plt.run()->cfa, expected) << pc;
  }
  World expression;
  OneExpression pool({0x77, 24});  // breg7 24
  expression.rule.cfa_kind = CfaKind::expression;
  expression.rule.cfa_offset = 7;
  expression.rule.pool = &pool;
  expression.add(x86_64_reg::rip, Kind::at_cfa_offset, -8);
  EXPECT_EQ(expression.run()->cfa, 0x1018u);
  World none;
  none.rule.cfa_kind = CfaKind::undefined;
  EXPECT_EQ(none.run().error().code, ErrorCode::no_unwind_info);
}

TEST(Apply, ErrorsLeaveRegistersAlone) {
  World w;
  w.add(x86_64_reg::rip, Kind::at_cfa_offset, -8);
  w.rule.cfa_offset = 0x100000;
  Registers before = w.registers;
  EXPECT_EQ(w.run().error().code, ErrorCode::unreadable_memory);
  EXPECT_EQ(w.registers, before);
  w.rule.cfa_register = x86_64_reg::rbp;
  w.registers.forget(x86_64_reg::rbp);
  before = w.registers;
  EXPECT_EQ(w.run().error(), (Error{ErrorCode::register_unknown, 0, x86_64_reg::rbp}));
  EXPECT_EQ(w.registers, before);
  World no_ra;
  EXPECT_EQ(no_ra.run().error().code, ErrorCode::register_unknown) << "rip is not its own return address";
  World bad_sp;
  bad_sp.add(x86_64_reg::rip, Kind::at_cfa_offset, -8);
  bad_sp.add(x86_64_reg::rsp, Kind::at_cfa_offset, 0x100000);
  EXPECT_EQ(bad_sp.run().error().code, ErrorCode::unreadable_memory);
}

TEST(Apply, EndOfStack) {
  World w;
  w.rule.is_end_of_stack = true;
  const Registers before = w.registers;
  auto caller = w.run();
  ASSERT_TRUE(caller);
  EXPECT_TRUE(caller->is_end_of_stack);
  EXPECT_EQ(w.registers, before);
  World undefined;
  undefined.add(x86_64_reg::rip, Kind::undefined);
  EXPECT_TRUE(undefined.run()->is_end_of_stack);
  World zero;
  zero.memory.add_value<std::uint64_t>(0x8000, 0);
  zero.registers.set(x86_64_reg::rax, 0x8000);
  zero.add(x86_64_reg::rip, Kind::at_register_offset, 0, x86_64_reg::rax);
  EXPECT_TRUE(zero.run()->is_end_of_stack);
}

TEST(Apply, SignalFrameRestoresEverything) {
  World w;
  w.rule.is_signal_frame = true;
  for (unsigned r = 0; r <= x86_64_reg::rip; r++) w.add(r, Kind::at_register_offset, static_cast<int>(8 * r), 7);
  const auto caller = w.run();
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->pc, CodeAddress::exact(0xa010));
  for (unsigned r = 0; r <= x86_64_reg::rip; r++) EXPECT_EQ(w.registers.get(r), 0xa000u + r) << r;
}

TEST(Apply, Aarch64LinkRegister) {
  World leaf(Arch::aarch64);
  leaf.rule.cfa_offset = 0;
  const auto caller = leaf.run();
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->pc, CodeAddress::after_call(0x500 + 30));
  EXPECT_EQ(leaf.registers.get(aarch64_reg::lr), 0x500u + 30);
  EXPECT_FALSE(leaf.registers.get(aarch64_reg::x0));
  EXPECT_FALSE(leaf.registers.get(18)) << "the platform register is not preserved on Linux";
  EXPECT_EQ(leaf.registers.get(aarch64_reg::x19), 0x500u + 19);
  World lost(Arch::aarch64);
  lost.registers.forget(aarch64_reg::lr);
  EXPECT_EQ(lost.run().error(), (Error{ErrorCode::register_unknown, 0, aarch64_reg::lr}));
}

TEST(Apply, PointerAuthentication) {
  constexpr std::uint64_t kMask = 0x007f000000000000;
  World w(Arch::aarch64);
  w.memory.add_value<std::uint64_t>(0x8000, 0x0035'0000'0000'4444);
  w.registers.set(0, 0x8000);
  w.add(aarch64_reg::lr, Kind::at_register_offset, 0, 0);
  w.rule.ra_is_signed = true;
  World plain = w;
  plain.stack.fallback = &plain.memory;
  plain.rule.ra_is_signed = false;
  EXPECT_EQ(w.run(kMask)->pc.raw(), 0x4444u);
  EXPECT_EQ(w.registers.get(aarch64_reg::lr), 0x4444u);
  EXPECT_EQ(plain.run(kMask)->pc.raw(), 0x0035'0000'0000'4444u) << "stripped only where the rule says signed";
}

TEST(Apply, FourByteTarget) {
  World w(Arch::x86);
  const std::array<std::uint32_t, 4> words{0x11, 0x22, 0x33, 0x44};
  w.stack = {0x1000, reinterpret_cast<const std::byte*>(words.data()), sizeof(words), nullptr};
  w.rule.cfa_offset = 12;
  w.add(x86_reg::eip, Kind::at_cfa_offset, -4);
  w.add(x86_reg::ebp, Kind::at_cfa_offset, -8);
  ASSERT_TRUE(w.run());
  EXPECT_EQ(w.registers.pc(), 0x33u);
  EXPECT_EQ(w.registers.fp(), 0x22u);
  EXPECT_EQ(w.registers.sp(), 0x100cu);
}

TEST(Apply, ExpressionsShareOneBudget) {
  World w;
  OneExpression loop(test::Bytes{0x2f}.u16(0xfffd));
  w.rule.pool = &loop;
  w.add(x86_64_reg::rip, Kind::at_cfa_offset, -8);
  for (unsigned r = 0; r < 16; r++)
    if (r != x86_64_reg::rsp) w.add(r, Kind::is_expression, 7);
  EXPECT_TRUE(w.run());
  EXPECT_FALSE(w.registers.is_known(x86_64_reg::rbx));
}

TEST(Apply, SavedLocations) {
  using Where = SavedLocation::Kind;
  World w;
  w.add(x86_64_reg::rbx, Kind::at_cfa_offset, -16);
  w.add(x86_64_reg::r13, Kind::in_register, 0, x86_64_reg::rax);
  w.add(x86_64_reg::r14, Kind::is_cfa_offset, 0);
  const auto where = [&](unsigned reg) {
    return saved_location(w.rule, reg, w.registers, CodeAddress::exact(0), w.stack);
  };
  EXPECT_EQ(where(x86_64_reg::rbx).kind, Where::memory);
  EXPECT_EQ(where(x86_64_reg::rbx).address, 0x1010u);
  EXPECT_EQ(where(x86_64_reg::r12).kind, Where::unchanged);
  EXPECT_EQ(where(x86_64_reg::rax).kind, Where::unknown);
  EXPECT_EQ(where(x86_64_reg::r13).kind, Where::in_register);
  EXPECT_EQ(where(x86_64_reg::r14).kind, Where::computed);
}

}  // namespace
}  // namespace mixstack::unwind
