#include "engine/dwarf/expression.h"

#include <dwarf.h>
#include <gtest/gtest.h>

#include "engine/dwarf/dwarf_file.h"
#include "support/sparse_memory.h"

namespace mixstack::symbols {
namespace {

class DwarfExpression : public testing::Test {
 protected:
  DwarfExpression() : registers_(Arch::x86_64) {
    registers_.set(x86_64_reg::rbx, 0x1000);
    frame_.registers = &registers_;
    frame_.memory = &memory_;
    frame_.load_bias = 0x10000;
  }
  std::optional<std::vector<ValuePlace>> pieces(std::vector<Dwarf_Op> ops,
                                                const std::optional<std::uint64_t>& frame_base = std::nullopt) {
    std::uint64_t offset = 0;
    for (Dwarf_Op& o : ops) o.offset = offset++;
    return evaluate(ops, {frame_, frame_base, nullptr, {}});
  }
  std::optional<ValuePlace> run(std::vector<Dwarf_Op> ops,
                                const std::optional<std::uint64_t>& frame_base = std::nullopt) {
    const auto all = pieces(std::move(ops), frame_base);
    return all && all->size() == 1 ? std::optional(all->front()) : std::nullopt;
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

TEST_F(DwarfExpression, Pieces) {
  const auto all = pieces({op(DW_OP_reg3), op(DW_OP_piece, 4), op(DW_OP_breg3, 8), op(DW_OP_piece, 2),
                           op(DW_OP_piece, 2), op(DW_OP_lit5), op(DW_OP_stack_value), op(DW_OP_bit_piece, 64, 0)});
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 4u);
  EXPECT_EQ((*all)[0].kind, ValuePlace::Kind::in_register);
  EXPECT_EQ((*all)[0].size, 4u);
  EXPECT_EQ((*all)[1].kind, ValuePlace::Kind::memory);
  EXPECT_EQ((*all)[1].value, 0x1008u);
  EXPECT_EQ((*all)[2].kind, ValuePlace::Kind::nowhere);
  EXPECT_EQ((*all)[3].kind, ValuePlace::Kind::computed);
  EXPECT_EQ((*all)[3].value, 5u);
  EXPECT_EQ((*all)[3].size, 8u);
}

TEST_F(DwarfExpression, ArithmeticAndBranches) {
  const auto value = [&](std::vector<Dwarf_Op> ops) {
    ops.push_back(op(DW_OP_stack_value));
    const auto place = run(std::move(ops));
    return place ? static_cast<std::int64_t>(place->value) : -9999;
  };
  const auto minus = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
  EXPECT_EQ(value({op(DW_OP_consts, minus(-9)), op(DW_OP_lit2), op(DW_OP_div)}), -4);
  EXPECT_EQ(value({op(DW_OP_consts, minus(-8)), op(DW_OP_lit1), op(DW_OP_shra)}), -4);
  EXPECT_EQ(value({op(DW_OP_lit9), op(DW_OP_lit4), op(DW_OP_mod)}), 1);
  EXPECT_EQ(value({op(DW_OP_consts, minus(-1)), op(DW_OP_lit0), op(DW_OP_lt)}), 1);
  EXPECT_EQ(value({op(DW_OP_lit3), op(DW_OP_lit3), op(DW_OP_ge)}), 1);
  EXPECT_EQ(value({op(DW_OP_lit1), op(DW_OP_lit2), op(DW_OP_swap), op(DW_OP_minus)}), 1);
  EXPECT_EQ(value({op(DW_OP_lit1), op(DW_OP_lit2), op(DW_OP_over), op(DW_OP_plus)}), 3);
  EXPECT_EQ(value({op(DW_OP_lit1), op(DW_OP_lit2), op(DW_OP_lit3), op(DW_OP_rot), op(DW_OP_drop)}), 1);
  EXPECT_EQ(value({op(DW_OP_lit6), op(DW_OP_lit3), op(DW_OP_xor), op(DW_OP_not)}), -6);
  EXPECT_EQ(value({op(DW_OP_consts, minus(-7)), op(DW_OP_abs)}), 7);
  // max(5, 3), as compilers write it; each operation counts as one byte here.
  EXPECT_EQ(value({op(DW_OP_lit5), op(DW_OP_lit3), op(DW_OP_over), op(DW_OP_over), op(DW_OP_gt),
                   op(DW_OP_bra, minus(-1)), op(DW_OP_swap), op(DW_OP_drop)}),
            5);
}

TEST_F(DwarfExpression, RegistersThatHoldVectors) {
  VectorRegisters vectors;
  vectors.size = 16;
  vectors.values.resize(16);
  vectors.values[2][0] = std::byte{7};
  vectors.values[2][15] = std::byte{9};
  EXPECT_TRUE(register_bytes(frame_, 19, 16).empty()) << "they are not known";
  frame_.vectors = &vectors;
  const auto bytes = register_bytes(frame_, 19, 16);
  ASSERT_EQ(bytes.size(), 16u);
  EXPECT_EQ(bytes[0], std::byte{7});
  EXPECT_EQ(bytes[15], std::byte{9});
  EXPECT_TRUE(register_bytes(frame_, 19, 32).empty()) << "larger than what is known of it";
  EXPECT_TRUE(register_bytes(frame_, 33, 16).empty());
  EXPECT_EQ(register_bytes(frame_, 3, 4).size(), 4u);
  EXPECT_TRUE(register_bytes(frame_, 3, 16).empty());
}

TEST_F(DwarfExpression, WhatIsNotKnownIsNoValue) {
  EXPECT_FALSE(run({op(DW_OP_breg0, 0)})) << "rax is not known";
  EXPECT_FALSE(run({op(DW_OP_fbreg, 0)})) << "no frame base";
  EXPECT_FALSE(run({op(DW_OP_call_frame_cfa)})) << "no CFA";
  EXPECT_FALSE(run({op(DW_OP_lit1), op(DW_OP_deref)})) << "unreadable";
  EXPECT_FALSE(run({op(DW_OP_entry_value)}));
  EXPECT_FALSE(run({op(DW_OP_reg3), op(DW_OP_lit1)})) << "nothing follows a register";
  EXPECT_FALSE(run({op(DW_OP_lit1), op(DW_OP_piece, 4), op(DW_OP_lit1)})) << "bytes behind the last piece";
  EXPECT_FALSE(run({op(DW_OP_lit1), op(DW_OP_lit0), op(DW_OP_div), op(DW_OP_stack_value)}));
  EXPECT_FALSE(run({op(DW_OP_skip, static_cast<std::uint64_t>(-3))})) << "a branch to itself";
  EXPECT_FALSE(run({op(DW_OP_skip, 70)})) << "a branch out of it";
  EXPECT_FALSE(run({op(DW_OP_plus)})) << "nothing to add";
  EXPECT_FALSE(run({op(DW_OP_stack_value)}));
  EXPECT_FALSE(run({}));
  EXPECT_FALSE(run({op(0xff)}));
  std::vector<Dwarf_Op> endless(1000, op(DW_OP_lit0));
  EXPECT_FALSE(pieces(endless)) << "deeper than any real one";
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
}  // namespace mixstack::symbols
