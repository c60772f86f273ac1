#include "engine/unwind/frame_pointer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "engine/unwind/apply.h"

namespace mixstack::unwind {
namespace {

constexpr Address kBase = 0x7fff00000000u;

struct Stack {
  std::vector<std::uint64_t> words = std::vector<std::uint64_t>(64, 0);
  [[nodiscard]] StackView view() const {
    return {kBase, reinterpret_cast<const std::byte*>(words.data()), words.size() * 8, nullptr};
  }
  void record(Address at, std::uint64_t fp, std::uint64_t ra) {
    words[(at - kBase) / 8] = fp;
    words[(at - kBase) / 8 + 1] = ra;
  }
};

Registers at(Arch arch, Address sp, Address fp) {
  Registers r(arch);
  r.set_pc(0x1000);
  r.set_sp(sp);
  r.set_fp(fp);
  return r;
}

class FramePointer : public testing::TestWithParam<Arch> {};
INSTANTIATE_TEST_SUITE_P(Cpus, FramePointer, testing::Values(Arch::x86_64, Arch::aarch64));

TEST_P(FramePointer, FollowsTheRecord) {
  Stack stack;
  stack.record(kBase + 64, kBase + 128, 0x4242);
  Registers r = at(GetParam(), kBase + 16, kBase + 64);
  const auto rule = frame_pointer_rule(r, stack.view());
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->rule.trust, Trust::frame_pointer);
  EXPECT_EQ(rule->sp_is_exact, GetParam() == Arch::x86_64);
  const auto caller = apply(rule->rule, r, CodeAddress::exact(0x1000), stack.view());
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->pc, CodeAddress::after_call(0x4242));
  EXPECT_EQ(caller->cfa, kBase + 80);
  EXPECT_EQ(r.fp(), kBase + 128);
}

TEST_P(FramePointer, EndsAtZero) {
  Stack stack;
  Registers r = at(GetParam(), kBase, kBase + 64);
  const auto rule = frame_pointer_rule(r, stack.view());
  ASSERT_TRUE(rule);
  EXPECT_TRUE(rule->rule.is_end_of_stack);
}

/// As `_start` leaves it, for which older C libraries have no unwind information.
TEST_P(FramePointer, ZeroIsNobodysCallerWhereTheAbiSaysSo) {
  Stack stack;
  const auto rule = frame_pointer_rule(at(GetParam(), kBase, 0), stack.view());
  ASSERT_EQ(rule.has_value(), GetParam() == Arch::aarch64);
  if (!rule) return;
  EXPECT_TRUE(rule->rule.is_end_of_stack);
  EXPECT_EQ(rule->rule.trust, Trust::frame_pointer);
}

TEST_P(FramePointer, RefusesWhatIsNoRecord) {
  Stack stack;
  const Address record = kBase + 64;
  stack.record(record, kBase + 128, 0x4242);
  const auto refused = [&](Address sp, Address fp) {
    const auto rule = frame_pointer_rule(at(GetParam(), sp, fp), stack.view());
    return !rule && rule.error().code == ErrorCode::no_unwind_info;
  };
  EXPECT_TRUE(refused(kBase, record + 4));                    // unaligned
  EXPECT_TRUE(refused(record + 8, record));                   // below sp
  EXPECT_TRUE(refused(kBase - kMaxFrameSize - 128, record));  // too far
  stack.record(record, record, 0x4242);
  EXPECT_TRUE(refused(kBase, record));  // a cycle
  stack.record(record, kBase + 16, 0x4242);
  EXPECT_TRUE(refused(kBase, record));  // backwards
  stack.record(record, kBase + 129, 0x4242);
  EXPECT_TRUE(refused(kBase, record));
  stack.record(record, kBase + 128, 0);
  EXPECT_TRUE(refused(kBase, record));  // a caller without a return address
}

TEST_P(FramePointer, SaysWhatIsMissing) {
  Stack stack;
  Registers r = at(GetParam(), kBase, kBase + 64 * 8);
  EXPECT_EQ(frame_pointer_rule(r, stack.view()).error().code, ErrorCode::unreadable_memory);
  r.forget(arch_registers(GetParam()).fp);
  EXPECT_EQ(frame_pointer_rule(r, stack.view()).error().code, ErrorCode::register_unknown);
  EXPECT_EQ(frame_pointer_rule(Registers(Arch::arm), stack.view()).error().code, ErrorCode::unsupported_cpu);
}

}  // namespace
}  // namespace mixstack::unwind
