#include "symbolize/dwarf/expression.h"

#include <dwarf.h>
#include <gtest/gtest.h>

#include "support/sparse_memory.h"
#include "symbolize/dwarf/dwarf_file.h"

namespace mixstack::symbolize {
namespace {

class DwarfExpression : public testing::Test {
 protected:
  DwarfExpression() : registers_(Arch::x86_64) {
    registers_.set(x86_64_reg::rbx, 0x1000);
    frame_.registers = &registers_;
    frame_.memory = &memory_;
    frame_.load_bias = 0x10000;
  }
  std::optional<ValuePlace> run(std::initializer_list<Dwarf_Op> ops,
                                const std::optional<std::uint64_t>& frame_base = std::nullopt) {
    return evaluate(std::span<const Dwarf_Op>(ops.begin(), ops.size()), frame_, frame_base);
  }
  static Dwarf_Op op(std::uint8_t atom, std::uint64_t a = 0, std::uint64_t b = 0) { return {atom, a, b, 0}; }

  Registers registers_;
  test::SparseMemory memory_;
  DwarfFrame frame_;
};

TEST_F(DwarfExpression, PlacesInMemory) {
  const auto minus8 = static_cast<std::uint64_t>(-8);
  auto place = run({op(DW_OP_fbreg, minus8)}, 0x2000);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->kind, ValuePlace::Kind::memory);
  EXPECT_EQ(place->value, 0x1ff8U);
  EXPECT_EQ(run({op(DW_OP_breg3, 0x10)})->value, 0x1010U);
  EXPECT_EQ(run({op(DW_OP_bregx, 3, 0x20)})->value, 0x1020U);
  EXPECT_EQ(run({op(DW_OP_addr, 0x30)})->value, 0x10030U);
  EXPECT_EQ(run({op(DW_OP_breg3, 0), op(DW_OP_lit4), op(DW_OP_plus), op(DW_OP_plus_uconst, 4)})->value, 0x1008U);
  frame_.cfa = 0x3000;
  EXPECT_EQ(run({op(DW_OP_call_frame_cfa)})->value, 0x3000U);
}

TEST_F(DwarfExpression, RegistersAndValues) {
  auto place = run({op(DW_OP_reg3)});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->kind, ValuePlace::Kind::in_register);
  EXPECT_EQ(place->value, 3U);
  place = run({op(DW_OP_breg3, 0), op(DW_OP_lit2), op(DW_OP_shl), op(DW_OP_stack_value)});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->kind, ValuePlace::Kind::computed);
  EXPECT_EQ(place->value, 0x4000U);
  EXPECT_EQ(run({op(DW_OP_const1u, 9), op(DW_OP_lit3), op(DW_OP_minus), op(DW_OP_stack_value)})->value, 6U);
}

TEST_F(DwarfExpression, WhatIsNotKnownIsNoValue) {
  EXPECT_FALSE(run({op(DW_OP_breg0, 0)})) << "rax is not known";
  EXPECT_FALSE(run({op(DW_OP_fbreg, 0)})) << "no frame base";
  EXPECT_FALSE(run({op(DW_OP_call_frame_cfa)})) << "no CFA";
  EXPECT_FALSE(run({op(DW_OP_lit1), op(DW_OP_deref)})) << "unreadable";
  EXPECT_FALSE(run({op(DW_OP_entry_value)}));
  EXPECT_FALSE(run({op(DW_OP_reg3), op(DW_OP_piece, 4)})) << "values in pieces";
  EXPECT_FALSE(run({op(DW_OP_plus)})) << "nothing to add";
  EXPECT_FALSE(run({op(DW_OP_stack_value)}));
  EXPECT_FALSE(run({}));
  EXPECT_FALSE(run({op(0xff)}));
  std::vector<Dwarf_Op> endless(1000, op(DW_OP_lit0));
  EXPECT_FALSE(evaluate(endless, frame_, std::nullopt)) << "deeper than any real one";
}

TEST(DwarfFileTest, RefusesWhatIsNone) {
  class Bytes : public FileBytes {
   public:
    explicit Bytes(std::size_t size) : bytes_(size) {}
    [[nodiscard]] std::span<const std::byte> bytes() const override { return bytes_; }

   private:
    std::vector<std::byte> bytes_;
  };
  EXPECT_FALSE(DwarfFile::open(std::make_shared<Bytes>(0)));
  EXPECT_FALSE(DwarfFile::open(std::make_shared<Bytes>(4096)));
}

}  // namespace
}  // namespace mixstack::symbolize
