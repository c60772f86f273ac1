// Each call frame instruction, by the compiled table and by the interpreter.
#include "engine/unwind/cfi_interpreter.h"

#include <gtest/gtest.h>

#include "engine/unwind/known_cfi_errors.h"
#include "engine/unwind/unwind_table.h"
#include "support/cfi_builder.h"

namespace mixstack::unwind {
namespace {

using test::Bytes;
using test::CfiBuilder;
using test::CieSpec;
using Kind = RegisterRuleKind;

constexpr std::uint64_t kBegin = 0x1000;

struct Program {
  CfiBuilder builder;
  std::shared_ptr<const UnwindTable> table;
};

std::unique_ptr<Program> assemble(const Bytes& instructions, const CieSpec& cie = {}, Arch arch = Arch::x86_64,
                                  std::uint64_t size = 0x100) {
  auto program = std::make_unique<Program>();
  program->builder.fde(program->builder.cie(cie), kBegin, size, instructions);
  program->table = UnwindTable::create(program->builder.sections(arch), UnwindTable::Options());
  return program;
}

void expect_same(const Result<UnwindRule>& a, const Result<UnwindRule>& b) {
  ASSERT_EQ(a.has_value(), b.has_value());
  if (!a) return;
  EXPECT_EQ(a->cfa_kind, b->cfa_kind);
  EXPECT_EQ(a->cfa_register, b->cfa_register);
  EXPECT_EQ(a->cfa_offset, b->cfa_offset);
  EXPECT_EQ(a->plt_step, b->plt_step);
  EXPECT_EQ(a->is_end_of_stack, b->is_end_of_stack);
  EXPECT_EQ(a->ra_is_signed, b->ra_is_signed);
  ASSERT_EQ(a->count, b->count);
  for (std::size_t i = 0; i < a->count; i++) EXPECT_EQ(a->rules[i], b->rules[i]);
}

/// The rule at an offset into the function; the table and the interpreter must agree.
Result<UnwindRule> at(const Program& program, std::uint64_t offset = 0x80) {
  auto rule = program.table->rule(kBegin + offset);
  expect_same(rule, program.table->interpret(kBegin + offset));
  return rule;
}

RegisterRule rule_of(const UnwindRule& rule, unsigned reg) {
  for (std::size_t i = 0; i < rule.count; i++)
    if (rule.rules[i].reg == reg) return rule.rules[i];
  return {255, Kind::undefined, 0, 0, 0};
}

RegisterRule only(const Bytes& instructions, unsigned reg) {
  const auto program = assemble(instructions);
  const auto rule = at(*program);
  return rule ? rule_of(*rule, reg) : RegisterRule{254, Kind::undefined, 0, 0, 0};
}

bool is_malformed(const Bytes& instructions, std::uint64_t offset = 0x80) {
  const auto program = assemble(instructions);
  const auto rule = at(*program, offset);
  return !rule && (rule.error().code == ErrorCode::malformed || rule.error().code == ErrorCode::truncated);
}

TEST(CfiInstructions, Advances) {
  Bytes code;
  code.u8(0x43).add({0x0e, 16});                // advance_loc 3
  code.u8(0x02).u8(0x10).add({0x0e, 24});       // advance_loc1: 0x13
  code.u8(0x03).u16(0x1000).add({0x0e, 32});    // advance_loc2: 0x1013
  code.u8(0x04).u32(0x100000).add({0x0e, 40});  // advance_loc4: 0x101013
  code.u8(0x1d).u64(0x10).add({0x0e, 48});      // MIPS_advance_loc8
  const auto program = assemble(code, {}, Arch::x86_64, 0x200000);
  const std::pair<std::uint64_t, int> expected[] = {{0, 8},         {2, 8},         {3, 16},        {0x12, 16},
                                                    {0x13, 24},     {0x1012, 24},   {0x1013, 32},   {0x101012, 32},
                                                    {0x101013, 40}, {0x101022, 40}, {0x101023, 48}, {0x1fffff, 48}};
  for (const auto& [offset, cfa] : expected) {
    const auto rule = at(*program, offset);
    ASSERT_TRUE(rule) << offset;
    EXPECT_EQ(rule->cfa_offset, cfa) << offset;
  }
  EXPECT_FALSE(at(*program, 0x200000));
}

TEST(CfiInstructions, CodeAlignment) {
  CieSpec cie;
  cie.code_alignment = 4;
  const auto program = assemble({0x42, 0x0e, 16}, cie);
  EXPECT_EQ(at(*program, 7)->cfa_offset, 8);
  EXPECT_EQ(at(*program, 8)->cfa_offset, 16);
}

TEST(CfiInstructions, SetLocation) {
  // pcrel to the operand: where it lies depends on the entry, so encode absolute addresses.
  CieSpec cie;
  cie.augmentation_data = Bytes{0x04};
  CfiBuilder builder;
  const auto offset = builder.cie(cie);
  builder.raw_fde(offset, Bytes().u64(kBegin).u64(0x100).uleb(0).u8(0x01).u64(kBegin + 0x20).add({0x0e, 16}));
  const auto table = UnwindTable::create(builder.sections(), UnwindTable::Options());
  EXPECT_EQ(table->rule(kBegin + 0x1f)->cfa_offset, 8);
  EXPECT_EQ(table->rule(kBegin + 0x20)->cfa_offset, 16);
  CfiBuilder backwards;
  const auto other = backwards.cie(cie);
  backwards.raw_fde(other, Bytes().u64(kBegin).u64(0x100).uleb(0).u8(0x41).u8(0x01).u64(kBegin).add({0x0e, 16}));
  const auto bad = UnwindTable::create(backwards.sections(), UnwindTable::Options());
  EXPECT_TRUE(bad->rule(kBegin)) << "rows before the mistake are good";
  EXPECT_FALSE(bad->rule(kBegin + 0x20));
  EXPECT_FALSE(bad->interpret(kBegin + 0x20));
}

TEST(CfiInstructions, DefinitionsOfTheCfa) {
  EXPECT_EQ(at(*assemble({0x0c, 6, 32}))->cfa_register, 6);  // def_cfa
  EXPECT_EQ(at(*assemble({0x0d, 6}))->cfa_register, 6);      // def_cfa_register
  EXPECT_EQ(at(*assemble({0x0d, 6}))->cfa_offset, 8);
  EXPECT_EQ(at(*assemble({0x0e, 0x80, 1}))->cfa_offset, 128);     // def_cfa_offset
  EXPECT_EQ(at(*assemble({0x12, 6, 0x7c}))->cfa_offset, 32);      // def_cfa_sf
  EXPECT_EQ(at(*assemble({0x13, 0x7e}))->cfa_offset, 16);         // def_cfa_offset_sf
  const auto expression = assemble({0x0f, 4, 0x77, 8, 0x23, 1});  // def_cfa_expression
  const auto rule = at(*expression);
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->cfa_kind, CfaKind::expression);
  EXPECT_EQ(rule->pool->expression(static_cast<std::uint32_t>(rule->cfa_offset)).size(), 4u);
  EXPECT_EQ(at(*assemble({0x0f, 3, 0x76, 0x78, 0x06}))->cfa_kind, CfaKind::deref_register_offset);
  EXPECT_EQ(at(*assemble({0x0f, 3, 0x76, 0x78, 0x06}))->cfa_offset, -8);
  EXPECT_EQ(at(*assemble({0x0f, 2, 0x76, 0x10}))->cfa_kind, CfaKind::register_offset);
  const auto plt = at(*assemble({0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}));
  ASSERT_TRUE(plt);
  EXPECT_EQ(plt->cfa_kind, CfaKind::plt);
  EXPECT_EQ(plt->plt_step, 11);
  EXPECT_EQ(plt->cfa_offset, 8);
}

TEST(CfiInstructions, CfaOffsetAfterExpressionIsNoRule) {
  const auto program = assemble({0x0f, 3, 0x77, 8, 0x96, 0x0e, 16});
  EXPECT_EQ(at(*program)->cfa_kind, CfaKind::undefined);
}

TEST(CfiInstructions, RegisterRules) {
  EXPECT_EQ(only({0x83, 3}, 3), (RegisterRule{3, Kind::at_cfa_offset, 0, 0, -24}));        // offset
  EXPECT_EQ(only({0x05, 12, 4}, 12), (RegisterRule{12, Kind::at_cfa_offset, 0, 0, -32}));  // offset_extended
  EXPECT_EQ(only({0x11, 3, 0x7f}, 3), (RegisterRule{3, Kind::at_cfa_offset, 0, 0, 8}));    // offset_extended_sf
  EXPECT_EQ(only({0x2f, 3, 2}, 3), (RegisterRule{3, Kind::at_cfa_offset, 0, 0, 16}));   // GNU_negative_offset_extended
  EXPECT_EQ(only({0x14, 3, 2}, 3), (RegisterRule{3, Kind::is_cfa_offset, 0, 0, -16}));  // val_offset
  EXPECT_EQ(only({0x15, 3, 0x7e}, 3), (RegisterRule{3, Kind::is_cfa_offset, 0, 0, 16}));  // val_offset_sf
  EXPECT_EQ(only({0x09, 3, 1}, 3), (RegisterRule{3, Kind::in_register, 1, 0, 0}));        // register
  EXPECT_EQ(only({0x07, 3}, 3).kind, Kind::undefined);                                    // undefined
  EXPECT_EQ(only({0x08, 3}, 3), (RegisterRule{3, Kind::same_value, 0, 0, 0}));            // same_value
  EXPECT_EQ(only({0x10, 3, 3, 0x77, 8, 0x96}, 3).kind, Kind::at_expression);              // expression
  EXPECT_EQ(only({0x10, 3, 2, 0x77, 40}, 3), (RegisterRule{3, Kind::at_register_offset, 7, 0, 40}));
  EXPECT_EQ(only({0x16, 3, 2, 0x77, 40}, 3).kind, Kind::is_expression);  // val_expression
  EXPECT_EQ(only({0x83, 3, 0xc3}, 3).reg, 255) << "restore: back to no rule";
  EXPECT_EQ(only({0x83, 3, 0x06, 3}, 3).reg, 255) << "restore_extended";
  EXPECT_EQ(only({0x2e, 0x80, 8, 0x83, 3}, 3).value, -24) << "GNU_args_size changes nothing";
  EXPECT_EQ(only({0x2d, 0x83, 3}, 3).value, -24) << "GNU_window_save means nothing here";
}

TEST(CfiInstructions, VolatileAndVectorRegisters) {
  EXPECT_EQ(only({0x85, 3}, 5), (RegisterRule{5, Kind::at_cfa_offset, 0, 0, -24}));
  EXPECT_EQ(only({0x05, 17, 3, 0x83, 2}, 3).value, -16) << "xmm0 is not kept";
  EXPECT_EQ(only({0x05, 17, 3}, 17).reg, 255);
  EXPECT_EQ(only({0x09, 3, 40}, 3).kind, Kind::undefined) << "held by a register we do not track";
}

TEST(CfiInstructions, RestoreGivesTheRuleOfTheCie) {
  CieSpec cie;
  cie.instructions = Bytes{0x0c, 7, 8, 0x90, 1, 0x83, 5, 0x14, 12, 2};
  const auto program = assemble({0x83, 3, 0x08, 12, 0x41, 0xc3, 0xcc}, cie);
  EXPECT_EQ(rule_of(*at(*program, 0), 3).value, -24);
  EXPECT_EQ(rule_of(*at(*program, 1), 3).value, -40);
  EXPECT_EQ(rule_of(*at(*program, 1), 12).kind, Kind::is_cfa_offset);
}

TEST(CfiInstructions, RememberAndRestoreState) {
  const auto program =
      assemble({0x0e, 16, 0x86, 2, 0x0a, 0x41, 0x0e, 32, 0x83, 3, 0x0a, 0x41, 0x0c, 6, 64, 0x0b, 0x41, 0x0b});
  EXPECT_EQ(at(*program, 1)->cfa_offset, 32);
  EXPECT_EQ(at(*program, 2)->cfa_offset, 32) << "the CFA is part of the state";
  EXPECT_EQ(at(*program, 2)->cfa_register, 7);
  const auto last = at(*program, 3);
  EXPECT_EQ(last->cfa_offset, 16);
  EXPECT_EQ(rule_of(*last, 3).reg, 255);
  EXPECT_EQ(rule_of(*last, 6).value, -16);
}

TEST(CfiInstructions, UnbalancedStates) {
  EXPECT_TRUE(is_malformed({0x0b}));
  EXPECT_FALSE(is_malformed({0x44, 0x0b}, 3)) << "good up to the mistake";
  EXPECT_TRUE(is_malformed({0x44, 0x0b}, 4));
  Bytes deep;
  for (int i = 0; i < 1000; i++) deep.u8(0x0a);
  EXPECT_TRUE(is_malformed(deep));
}

TEST(CfiInstructions, UndefinedReturnAddressEndsTheStack) {
  const auto program = assemble({0x07, 16, 0x41, 0x90, 1});
  EXPECT_TRUE(at(*program, 0)->is_end_of_stack);
  EXPECT_FALSE(at(*program, 1)->is_end_of_stack);
}

TEST(CfiInstructions, BrokenPrograms) {
  for (const int unknown : {0x17, 0x1c, 0x1e, 0x2a, 0x30, 0x3f})
    EXPECT_TRUE(is_malformed(Bytes{unknown, 1, 2})) << unknown;
  EXPECT_TRUE(is_malformed(Bytes{0x10, 3, 0x7f}.u8(0x96))) << "block longer than the entry";
  EXPECT_TRUE(is_malformed(Bytes{0x0c, 7, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1}));
}

TEST(CfiInstructions, NoAdvanceInTheCie) {
  CieSpec cie;
  cie.instructions = Bytes{0x0c, 7, 8, 0x90, 1, 0x41, 0x0e, 16};
  EXPECT_FALSE(at(*assemble({}, cie)));
}

TEST(CfiInstructions, OffsetsBeyond32Bits) {
  const auto far_cfa = assemble(Bytes{0x0e}.uleb(std::uint64_t{1} << 40));
  EXPECT_EQ(at(*far_cfa).error().code, ErrorCode::limit_exceeded);
  const auto far_slot = assemble(Bytes{0x83}.uleb(std::uint64_t{1} << 40));
  EXPECT_EQ(at(*far_slot).error().code, ErrorCode::limit_exceeded);
  const auto deep_slot = assemble(Bytes{0x83}.uleb(100000));  // beyond a compact slot, not beyond a rule
  EXPECT_EQ(rule_of(*at(*deep_slot), 3).value, -800000);
  const auto wrap = assemble(Bytes{0x83}.uleb(std::uint64_t{1} << 63));
  EXPECT_TRUE(at(*wrap)) << "the product wraps to 0, as in every reader";
}

TEST(CfiInstructions, Aarch64ReturnAddressState) {
  CieSpec cie;
  cie.ra_register = 30;
  cie.code_alignment = 4;
  cie.instructions = Bytes{0x0c, 31, 0};
  const auto program = assemble(
      {0x41, 0x2d, 0x0a, 0x41, 0x2d, 0x41, 0x0b, 0x41, 0x2c, 0x41, 0x2b, 1, 0, 0x41, 0x2b, 0, 0}, cie, Arch::aarch64);
  const bool expected[] = {false, true, false, true, false, true, false};
  for (unsigned i = 0; i < 7; i++) {
    const auto rule = at(*program, 4 * i);
    ASSERT_TRUE(rule);
    EXPECT_EQ(rule->ra_is_signed, expected[i]) << i;
    EXPECT_EQ(rule->ra_register, 30);
  }
}

TEST(CfiInstructions, UnusualReturnColumns) {
  CieSpec cie;
  cie.ra_register = 15;
  cie.instructions = Bytes{0x0c, 31, 0};
  EXPECT_TRUE(at(*assemble({}, cie, Arch::aarch64))->is_end_of_stack) << "x15 holds nothing: glibc's thread_start";
  cie.ra_register = 19;
  EXPECT_FALSE(at(*assemble({}, cie, Arch::aarch64))->is_end_of_stack);
  cie.ra_register = 200;
  EXPECT_EQ(at(*assemble({}, cie, Arch::aarch64)).error().code, ErrorCode::unsupported);
}

TEST(KnownCfiErrors, OneRowOfTheHijackStub) {
  CompactRule row{.cfa_offset = 88, .cfa_register = x86_64_reg::rsp, .kind = CompactKind::register_offset};
  row.slots[kCompactLayouts.x86_64.ra] = 8;
  ASSERT_TRUE(may_have_known_error(Arch::x86_64, row, 68));
  EXPECT_FALSE(may_have_known_error(Arch::aarch64, row, 68));
  EXPECT_FALSE(may_have_known_error(Arch::x86_64, row, 1000));
  const Bytes pushes{0x50, 0x55, 0x53, 0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0x41, 0x54};
  CompactRule other = row;
  correct_known_error(Arch::x86_64, row, pushes.bytes());
  EXPECT_EQ(row.cfa_offset, 80);
  correct_known_error(Arch::x86_64, other, std::span(pushes.bytes()).first(10));
  EXPECT_EQ(other.cfa_offset, 88);
  other.slots[CompactLayout::kFp] = 16;
  EXPECT_FALSE(may_have_known_error(Arch::x86_64, other, 68)) << "it saves a register";
}

/// The stub that methods return to when CoreCLR has replaced their return address.
TEST(KnownCfiErrors, TheHijackStubOfCoreClrIsReturnedTo) {
  const std::vector<int> code{0x50, 0x55, 0x53, 0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0x41, 0x54,
                              0x51, 0x52, 0x50, 0x48, 0x89, 0xe7, 0xe8, 0,    0,    0,    0};
  // DW_CFA_advance_loc, DW_CFA_def_cfa_offset: behind each push.
  Bytes instructions;
  const std::vector<int> lengths{1, 1, 1, 2, 2, 2, 2, 1, 1, 1};
  for (std::size_t i = 0; i < lengths.size(); i++)
    instructions.u8(0x40U | static_cast<unsigned>(lengths[i])).u8(0x0e).uleb(16 + 8 * i);
  for (const bool is_stub : {true, false}) {
    CfiBuilder builder;
    builder.fde(builder.cie(), kBegin, code.size(), instructions);
    UnwindTable::Options options;
    std::vector<std::byte> bytes;
    for (const int byte : code) bytes.push_back(static_cast<std::byte>(byte));
    if (!is_stub) bytes[0] = std::byte{0x51};
    options.bytes_at = [&bytes](std::uint64_t address, std::size_t size) {
      return address == kBegin ? std::span<const std::byte>(bytes).first(size) : std::span<const std::byte>();
    };
    const auto table = UnwindTable::create(builder.sections(), std::move(options));
    const int less = is_stub ? 8 : 0;
    for (const auto& [pc, offset] : {std::pair{0, 8}, {1, 16}, {3, 32}, {14, 88}, {21, 88}}) {
      const auto rule = table->rule(kBegin + static_cast<unsigned>(pc));
      ASSERT_TRUE(rule);
      EXPECT_EQ(rule->cfa_offset, offset - less) << pc;
      expect_same(rule, table->interpret(kBegin + static_cast<unsigned>(pc)));
    }
  }
}

/// glibc's, through which first calls of other libraries go on ARM64: the words that the stub pushed lie above its CFA.
TEST(KnownCfiErrors, TheCallerOfGlibcsResolverLiesBehindWhatTheStubPushed) {
  CieSpec cie;
  cie.ra_register = aarch64_reg::lr;
  cie.code_alignment = 4;
  cie.instructions = Bytes{0x0c, 31, 0};
  // nop; lr at CFA + 8 (DW_CFA_offset_extended_sf); stp x8, x9, [sp, #-208]!; these back; x17 and lr back; br
  const Bytes instructions{0x41, 0x11, 30, 0x7f, 0x41, 0x0e, 0xd0, 1, 0x88, 26, 0x89, 25, 0x42, 0x0e, 0, 0x41, 0x13, 2};
  const Bytes begins[] = {Bytes().u32(0xd503201f).u32(0xa9b327e8), Bytes().u32(0xd503245f).u32(0xa9b327e8),
                          Bytes().u32(0xa9b327e8).u32(0xd503201f), Bytes().u32(0xd503201f).u32(0xa9b32fea)};
  for (const Bytes& begin : begins) {
    const bool is_resolver = &begin != &begins[3];
    Bytes code = begin;
    code.pad_to(64).u32(0);
    CfiBuilder builder;
    builder.fde(builder.cie(cie), kBegin, 120, instructions);
    UnwindTable::Options options;
    options.bytes_at = [&code](std::uint64_t address, std::size_t size) {
      return address == kBegin ? std::span(code.bytes()).first(size) : std::span<const std::byte>();
    };
    const auto table = UnwindTable::create(builder.sections(Arch::aarch64), std::move(options));
    const int more = is_resolver ? 16 : 0;
    for (const auto& [pc, offset] : {std::pair{0, 0}, {4, 0}, {8, 208}, {16, 0}, {20, -16}}) {
      const auto rule = table->rule(kBegin + static_cast<unsigned>(pc));
      ASSERT_TRUE(rule);
      expect_same(rule, table->interpret(kBegin + static_cast<unsigned>(pc)));
      EXPECT_EQ(rule->cfa_offset, offset + more) << pc;
      const RegisterRule ra = rule_of(*rule, aarch64_reg::lr);
      if (is_resolver && (pc == 0 || pc == 20)) {
        EXPECT_EQ(rule->count, 0) << "everything is in its register";
      } else if (pc != 0) {
        EXPECT_EQ(ra.kind, Kind::at_cfa_offset);
        EXPECT_EQ(rule->cfa_offset + ra.value, offset + 8) << "where it lies is as it was";
      }
      EXPECT_TRUE(pc != 8 || rule->cfa_offset + rule_of(*rule, 8).value == 0) << "x8 lies at sp";
    }
  }
}

}  // namespace
}  // namespace mixstack::unwind
