#include "engine/unwind/expression.h"

#include <gtest/gtest.h>

#include "base/memory/buffer_memory.h"
#include "support/cfi_builder.h"

namespace mixstack::unwind {
namespace {

using test::Bytes;

struct World {
  memory::BufferMemory memory;
  StackView stack;
  Registers registers{Arch::x86_64};
  ExpressionContext context;

  explicit World(Arch arch = Arch::x86_64) : registers(arch) {
    memory.add_value<std::uint64_t>(0x1000, 0x8877665544332211);
    stack.fallback = &memory;
    registers.set(7, 0x1000);
    registers.set(3, 5);
    context.registers = &registers;
    context.stack = &stack;
    context.load_bias = 0x100000;
  }
  Result<std::uint64_t> run(const Bytes& code) const {
    unsigned steps = kExpressionStepLimit;
    return evaluate_expression(code.bytes(), context, steps);
  }
};

std::uint64_t value(const Bytes& code) {
  const auto result = World().run(code);
  EXPECT_TRUE(result) << (result ? 0 : static_cast<int>(result.error().code));
  return result.value_or(0xdeadbeef);
}
ErrorCode error(const Bytes& code) {
  const auto result = World().run(code);
  return result ? ErrorCode::none : result.error().code;
}
std::uint64_t negative(std::int64_t v) { return static_cast<std::uint64_t>(v); }

TEST(Expression, Constants) {
  EXPECT_EQ(value({0x30}), 0u);
  EXPECT_EQ(value({0x4f}), 31u);
  EXPECT_EQ(value({0x08, 0xff}), 255u);
  EXPECT_EQ(value({0x09, 0xff}), negative(-1));
  EXPECT_EQ(value(Bytes{0x0a}.u16(0xffff)), 0xffffu);
  EXPECT_EQ(value(Bytes{0x0b}.u16(0xffff)), negative(-1));
  EXPECT_EQ(value(Bytes{0x0c}.u32(0xffffffff)), 0xffffffffu);
  EXPECT_EQ(value(Bytes{0x0d}.u32(0xffffffff)), negative(-1));
  EXPECT_EQ(value(Bytes{0x0e}.u64(77)), 77u);
  EXPECT_EQ(value(Bytes{0x0f}.u64(negative(-77))), negative(-77));
  EXPECT_EQ(value(Bytes{0x10}.uleb(1000)), 1000u);
  EXPECT_EQ(value(Bytes{0x11}.sleb(-1000)), negative(-1000));
  EXPECT_EQ(value(Bytes{0x03}.u64(0x2000)), 0x102000u) << "DW_OP_addr takes the load bias";
}

TEST(Expression, StackOperations) {
  EXPECT_EQ(value({0x35, 0x12, 0x22}), 10u);             // dup
  EXPECT_EQ(value({0x35, 0x36, 0x13}), 5u);              // drop
  EXPECT_EQ(value({0x35, 0x36, 0x14}), 5u);              // over
  EXPECT_EQ(value({0x35, 0x36, 0x37, 0x15, 2}), 5u);     // pick
  EXPECT_EQ(value({0x35, 0x36, 0x16, 0x1c}), 1u);        // swap; minus
  EXPECT_EQ(value({0x31, 0x32, 0x33, 0x17, 0x13}), 1u);  // rot: 3 1 2 -> drop 2
  EXPECT_EQ(value({0x31, 0x32, 0x33, 0x17, 0x13, 0x13}), 3u);
}

TEST(Expression, Arithmetic) {
  EXPECT_EQ(value(Bytes{0x11}.sleb(-5).u8(0x19)), 5u);                          // abs
  EXPECT_EQ(value({0x35, 0x1f}), negative(-5));                                 // neg
  EXPECT_EQ(value({0x35, 0x20}), ~std::uint64_t{5});                            // not
  EXPECT_EQ(value({0x3c, 0x3a, 0x1a}), 8u);                                     // and
  EXPECT_EQ(value({0x3c, 0x3a, 0x21}), 14u);                                    // or
  EXPECT_EQ(value({0x3c, 0x3a, 0x27}), 6u);                                     // xor
  EXPECT_EQ(value({0x3c, 0x33, 0x1e}), 36u);                                    // mul
  EXPECT_EQ(value(Bytes{0x11}.sleb(-12).add({0x35, 0x1b})), negative(-2));      // div is signed
  EXPECT_EQ(value({0x3c, 0x35, 0x1d}), 2u);                                     // mod
  EXPECT_EQ(value({0x35, 0x23, 0x80, 1}), 133u);                                // plus_uconst
  EXPECT_EQ(value({0x35, 0x32, 0x24}), 20u);                                    // shl
  EXPECT_EQ(value(Bytes{0x11}.sleb(-8).add({0x31, 0x25})), negative(-8) >> 1);  // shr
  EXPECT_EQ(value(Bytes{0x11}.sleb(-8).add({0x31, 0x26})), negative(-4));       // shra
  EXPECT_EQ(value({0x35, 0x08, 64, 0x24}), 0u) << "shift by the width";
  EXPECT_EQ(value(Bytes{0x11}.sleb(-8).add({0x08, 200, 0x26})), negative(-1));
  EXPECT_EQ(value(Bytes{0x0e}.u64(std::uint64_t{1} << 63).add({0x09, 0xff, 0x1b})), std::uint64_t{1} << 63);
}

TEST(Expression, ComparisonsAreSigned) {
  const auto compare = [](int op) { return value(Bytes{0x09, 0xff, 0x31}.u8(static_cast<unsigned>(op))); };  // -1 op 1
  EXPECT_EQ(compare(0x29), 0u);
  EXPECT_EQ(compare(0x2a), 0u);
  EXPECT_EQ(compare(0x2b), 0u);
  EXPECT_EQ(compare(0x2c), 1u);
  EXPECT_EQ(compare(0x2d), 1u);
  EXPECT_EQ(compare(0x2e), 1u);
}

TEST(Expression, RegistersAndMemory) {
  EXPECT_EQ(value({0x77, 0x7f}), 0xfffu);                  // breg7 -1
  EXPECT_EQ(value({0x92, 3, 4}), 9u);                      // bregx
  EXPECT_EQ(value({0x53}), 5u);                            // reg3
  EXPECT_EQ(value({0x90, 3}), 5u);                         // regx
  EXPECT_EQ(value({0x77, 0, 0x06}), 0x8877665544332211u);  // deref
  EXPECT_EQ(value({0x77, 0, 0x94, 1}), 0x11u);             // deref_size
  EXPECT_EQ(value({0x77, 1, 0x94, 4}), 0x55443322u);
  EXPECT_EQ(error({0x70, 0}), ErrorCode::register_unknown);
  EXPECT_EQ(error({0x92, 0x80, 1, 0}), ErrorCode::register_unknown);
  EXPECT_EQ(error({0x30, 0x06}), ErrorCode::unreadable_memory);
  EXPECT_EQ(error({0x77, 0, 0x94, 9}), ErrorCode::malformed);
  EXPECT_EQ(error({0x77, 0, 0x94, 0}), ErrorCode::malformed);
}

TEST(Expression, TheLengthOfVectorsHasAnotherNumberHere) {
  World w(Arch::aarch64);
  w.registers.set_sp(0x9000);
  w.registers.set(aarch64_reg::vg, 4);
  const Bytes cfa{0x8f, 16, 0x92, 46, 0, 0x08, 64, 0x1e, 0x22};  // sp + 16 + 64 * VG, as GCC says it
  EXPECT_EQ(w.run(cfa).value_or(0), 0x9000u + 16 + 256);
  EXPECT_EQ(w.run({0x92, 35, 0}).error().code, ErrorCode::register_unknown) << "the psABI's 35 is another";
  w.registers.forget(aarch64_reg::vg);
  EXPECT_EQ(w.run(cfa).error().code, ErrorCode::register_unknown);
}

TEST(Expression, ControlFlow) {
  EXPECT_EQ(value(Bytes{0x35, 0x2f, 1, 0, 0x36, 0x31, 0x22}), 6u);  // skip over lit6
  EXPECT_EQ(value(Bytes{0x35, 0x31, 0x28, 1, 0, 0x1f, 0x96}), 5u);  // bra taken
  EXPECT_EQ(value(Bytes{0x35, 0x30, 0x28, 1, 0, 0x1f, 0x96}), negative(-5));
  // 10 rounds: lit10 lit0 | swap lit1 minus swap lit2 plus over bra back
  EXPECT_EQ(value(Bytes{0x3a, 0x30, 0x16, 0x31, 0x1c, 0x16, 0x32, 0x22, 0x14, 0x28}.u16(0xfff6)), 20u);
  EXPECT_EQ(error(Bytes{0x30, 0x2f}.u16(0xfff0)), ErrorCode::malformed) << "before the start";
  EXPECT_EQ(error(Bytes{0x30, 0x2f}.u16(0x7fff)), ErrorCode::truncated) << "behind the end";
}

TEST(Expression, InitialValueAndCfa) {
  World world;
  world.context.initial = 0x7000;
  world.context.cfa = 0x7000;
  EXPECT_EQ(*world.run({0x23, 8}), 0x7008u);
  EXPECT_EQ(*world.run({0x96}), 0x7000u);
  EXPECT_EQ(*world.run({0x9c, 0x31, 0x22}), 0x7001u);
  EXPECT_EQ(error({0x9c}), ErrorCode::unsupported);
}

TEST(Expression, TypesOtherThanGenericAreRefused) {
  EXPECT_EQ(value({0x35, 0xa8, 0}), 5u);  // convert to the generic type
  EXPECT_EQ(value({0x35, 0xa9, 0}), 5u);
  EXPECT_EQ(value({0xa5, 3, 0}), 5u);                // regval_type
  EXPECT_EQ(value({0x77, 0, 0xa6, 2, 0}), 0x2211u);  // deref_type
  EXPECT_EQ(error({0x35, 0xa8, 7}), ErrorCode::unsupported);
}

TEST(Expression, OperationsThatMeanNothingHere) {
  // fbreg, piece, xderef, push_object_address, call2, implicit_value, addrx, entry_value
  for (const int op : {0x91, 0x93, 0x18, 0x97, 0x98, 0x9e, 0xa1, 0xa3, 0x01, 0xff})
    EXPECT_EQ(error({0x35, 0x35, op, 0, 0}), ErrorCode::unsupported) << op;
  EXPECT_EQ(value({0x35, 0x9f, 0xff}), 5u) << "stack_value ends it";
  EXPECT_EQ(value(Bytes{0xf1, 0x03}.u32(0x40)), 0x100040u) << "GNU_encoded_addr";
}

TEST(Expression, Limits) {
  EXPECT_EQ(error({}), ErrorCode::malformed);
  EXPECT_EQ(error({0x13}), ErrorCode::malformed);
  EXPECT_EQ(error({0x35, 0x22}), ErrorCode::malformed);
  EXPECT_EQ(error({0x35, 0x15, 1}), ErrorCode::malformed);
  EXPECT_EQ(error({0x35, 0x30, 0x1b}), ErrorCode::malformed);
  EXPECT_EQ(error({0x35, 0x30, 0x1d}), ErrorCode::malformed);
  EXPECT_EQ(error({0x0c, 1, 2}), ErrorCode::truncated);
  Bytes deep;
  for (int i = 0; i < 65; i++) deep.u8(0x31);
  EXPECT_EQ(error(deep), ErrorCode::limit_exceeded);
  EXPECT_EQ(error(Bytes{0x2f}.u16(0xfffd)), ErrorCode::limit_exceeded) << "a loop without end";
}

TEST(Expression, FourByteTargets) {
  World world(Arch::x86);
  world.registers.set(4, 0x1000);
  EXPECT_EQ(*world.run({0x09, 0xff}), 0xffffffffu);
  EXPECT_EQ(*world.run({0x74, 0, 0x06}), 0x44332211u);
  EXPECT_EQ(*world.run(Bytes{0x0d}.u32(0x80000000).add({0x31, 0x26})), 0xc0000000u);
}

TEST(Expression, Patterns) {
  using Kind = ExpressionPattern::Kind;
  const auto match = [](const Bytes& code) { return match_expression(Arch::x86_64, code.bytes()); };
  EXPECT_EQ(match({0x77, 40}).kind, Kind::register_offset);
  EXPECT_EQ(match({0x77, 40}).offset, 40);
  EXPECT_EQ(match({0x92, 17, 0x7f}).reg, 17);
  EXPECT_EQ(match({0x92, 0x80, 1, 0}).kind, Kind::none) << "a register we do not track";
  EXPECT_EQ(match({0x77, 0xa0, 1, 0x06}).kind, Kind::deref_register_offset);
  EXPECT_EQ(match({0x77, 0xa0, 1, 0x06}).offset, 160);
  EXPECT_EQ(match({0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}).kind, Kind::plt);
  EXPECT_EQ(match({0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3a, 0x2a, 0x33, 0x24, 0x22}).plt_step, 10);
  EXPECT_EQ(match({0x77, 8, 0x80, 0, 0x3e, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}).kind, Kind::none);
  EXPECT_EQ(match({0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x1c}).kind, Kind::none);
  EXPECT_EQ(match({0x76, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}).kind, Kind::none);
  EXPECT_EQ(match({0x77}).kind, Kind::none);
  EXPECT_EQ(match({}).kind, Kind::none);
  EXPECT_EQ(match({0x35}).kind, Kind::none);
}

}  // namespace
}  // namespace mixstack::unwind
