// Every ARM64 unwind code by hand, headers, epilogues, and data that lies.
#include "engine/unwind/windows/arm64/rule.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <random>
#include <vector>

#include "mixstack/registers.h"

namespace mixstack::unwind::windows {
namespace {

using namespace aarch64_reg;

constexpr std::uint32_t kXdata = 0x8000;
constexpr RuntimeFunction kFunction{0x1000, 0, kXdata};

void append(std::vector<std::byte>& out, std::uint32_t word) {
  for (unsigned i = 0; i < 4; i++) out.push_back(static_cast<std::byte>(word >> 8 * i));
}

/// A record of a function of `length` instructions; `scopes` are (start, first code byte).
std::vector<std::byte> record(unsigned length, std::vector<unsigned> codes,
                              std::vector<std::pair<unsigned, unsigned>> scopes = {}, bool extended = false,
                              int single_epilogue = -1) {
  while (codes.size() % 4 != 0) codes.push_back(0xe4);
  const auto words = static_cast<std::uint32_t>(codes.size() / 4);
  const auto count =
      single_epilogue >= 0 ? static_cast<std::uint32_t>(single_epilogue) : static_cast<std::uint32_t>(scopes.size());
  std::vector<std::byte> out;
  const std::uint32_t flags = single_epilogue >= 0 ? 1u << 21 : 0;
  append(out, extended ? length | flags : length | flags | count << 22 | words << 27);
  if (extended) append(out, count | words << 16);
  for (const auto& [start, index] : scopes) append(out, start | index << 22);
  for (unsigned c : codes) out.push_back(static_cast<std::byte>(c));
  return out;
}

Result<UnwindRule> rule_at(std::uint32_t instruction, const std::vector<std::byte>& xdata, bool is_ra = false) {
  return arm64_rule(xdata, {kFunction, kFunction.begin + 4 * instruction, is_ra});
}

struct Expected {
  unsigned cfa_register;
  int cfa_offset;
  std::map<unsigned, int> at_cfa;
  bool is_signed = false;
};

void expect_rule(const Result<UnwindRule>& rule, const Expected& expected) {
  ASSERT_TRUE(rule) << static_cast<int>(rule.error().code) << " at " << rule.error().value;
  EXPECT_EQ(rule->cfa_kind, CfaKind::register_offset);
  EXPECT_EQ(rule->cfa_register, expected.cfa_register);
  EXPECT_EQ(rule->cfa_offset, expected.cfa_offset);
  EXPECT_EQ(rule->ra_register, lr);
  EXPECT_EQ(rule->ra_is_signed, expected.is_signed);
  std::map<unsigned, int> found;
  for (unsigned i = 0; i < rule->count; i++) {
    EXPECT_EQ(rule->rules[i].kind, RegisterRuleKind::at_cfa_offset);
    found[rule->rules[i].reg] = rule->rules[i].value;
  }
  EXPECT_EQ(found, expected.at_cfa);
}

/// One code in the body of a function.
Result<UnwindRule> body(std::vector<unsigned> codes) {
  codes.push_back(0xe4);
  return rule_at(200, record(400, std::move(codes)));
}

TEST(Arm64Rule, Allocations) {
  expect_rule(body({0x1f}), {sp, 31 * 16, {}});                         // alloc_s
  expect_rule(body({0xc7, 0xff}), {sp, 0x7ff * 16, {}});                // alloc_m
  expect_rule(body({0xe0, 0x01, 0x02, 0x03}), {sp, 0x10203 * 16, {}});  // alloc_l
}

TEST(Arm64Rule, SavesOfOneAndTwoRegisters) {
  expect_rule(body({0x24}), {sp, 32, {{19, -32}, {20, -24}}});              // save_r19r20_x #32
  expect_rule(body({0x42, 0x03}), {sp, 48, {{29, -32}, {30, -24}}});        // save_fplr #16
  expect_rule(body({0x83}), {sp, 32, {{29, -32}, {30, -24}}});              // save_fplr_x #32
  expect_rule(body({0xc8, 0x82, 0x03}), {sp, 48, {{21, -32}, {22, -24}}});  // save_regp x21 #16
  expect_rule(body({0xcd, 0x03}), {sp, 32, {{23, -32}, {24, -24}}});        // save_regp_x x23 #32
  expect_rule(body({0xd2, 0xc1, 0x02}), {sp, 32, {{30, -24}}});             // save_reg lr #8
  expect_rule(body({0xd4, 0x21}), {sp, 16, {{20, -16}}});                   // save_reg_x x20 #16
  expect_rule(body({0xd5, 0x61}), {sp, 16, {{30, -16}}});                   // save_reg_x lr #16
  expect_rule(body({0xd6, 0x42, 0x03}), {sp, 48, {{21, -32}, {30, -24}}});  // save_lrpair x21 #16
}

TEST(Arm64Rule, FloatingPointSavesOnlyMoveTheStackPointer) {
  expect_rule(body({0xd8, 0x02}), {sp, 0, {}});   // save_fregp
  expect_rule(body({0xda, 0x47}), {sp, 64, {}});  // save_fregp_x #64
  expect_rule(body({0xdc, 0x02}), {sp, 0, {}});   // save_freg
  expect_rule(body({0xde, 0x23}), {sp, 32, {}});  // save_freg_x #32
}

TEST(Arm64Rule, FramePointers) {
  expect_rule(body({0xe1, 0x83}), {fp, 32, {{29, -32}, {30, -24}}});
  expect_rule(body({0xe2, 0x04, 0x44, 0x04}), {fp, 32, {{29, -32}, {30, -24}}});  // add_fp #32, at sp + 32
}

TEST(Arm64Rule, SaveNextExtendsThePairThatFollows) {
  expect_rule(body({0xe6, 0xe6, 0x26}), {sp, 48, {{19, -48}, {20, -40}, {21, -32}, {22, -24}, {23, -16}, {24, -8}}});
  expect_rule(body({0xe6, 0xc8, 0x02, 0x04}), {sp, 64, {{19, -48}, {20, -40}, {21, -32}, {22, -24}}});
  expect_rule(body({0xe6, 0xd8, 0x02, 0x04}), {sp, 64, {}});
  EXPECT_EQ(body({0xe6, 0x04}).error().code, ErrorCode::malformed);
  EXPECT_EQ(body({0xe6}).error().code, ErrorCode::malformed);
  EXPECT_EQ(body({0xe6, 0xe6, 0xe6, 0xe6, 0xe6, 0xe6, 0x26}).error().code, ErrorCode::malformed);  // beyond lr
}

TEST(Arm64Rule, SaveAnyReg) {
  expect_rule(body({0xe7, 0x13, 0x02, 0x02}), {sp, 32, {{19, -16}}});            // x19 at #16 (8-byte scale)
  expect_rule(body({0xe7, 0x53, 0x01, 0x02}), {sp, 32, {{19, -16}, {20, -8}}});  // pair at #16
  expect_rule(body({0xe7, 0x73, 0x01}), {sp, 32, {{19, -32}, {20, -24}}});       // pair, #-32 with write-back
  expect_rule(body({0xe7, 0x33, 0x00}), {sp, 16, {{19, -16}}});                  // x19, #-16 with write-back
  expect_rule(body({0xe7, 0x68, 0x81}), {sp, 32, {}});                           // q8, q9 with write-back
  EXPECT_EQ(body({0xe7, 0x80, 0x00}).error().code, ErrorCode::malformed);        // fixed bit
  EXPECT_EQ(body({0xe7, 0x00, 0xc0}).error().code, ErrorCode::malformed);        // no such file
  EXPECT_EQ(body({0xe7, 0x1f, 0x00}).error().code, ErrorCode::malformed);        // x31
}

TEST(Arm64Rule, NoOperations) {
  expect_rule(body({0xe3, 0xf8, 1, 0xf9, 1, 2, 0xfa, 1, 2, 3, 0xfb, 1, 2, 3, 4, 0xfd, 0xfe, 0xff, 0x83}),
              {sp, 32, {{29, -32}, {30, -24}}});
}

TEST(Arm64Rule, SignedReturnAddress) {
  const auto xdata = record(40, {0x83, 0xfc, 0xe4});
  expect_rule(rule_at(0, xdata), {sp, 0, {}, false});
  expect_rule(rule_at(1, xdata), {sp, 0, {}, true});
  expect_rule(rule_at(2, xdata), {sp, 32, {{29, -32}, {30, -24}}, true});
}

TEST(Arm64Rule, StoredContexts) {
  const auto machine = body({0xe9});
  ASSERT_TRUE(machine);
  EXPECT_EQ(machine->cfa_kind, CfaKind::deref_register_offset);
  EXPECT_EQ(machine->cfa_offset, 0);
  EXPECT_EQ(machine->ra_register, pc);
  EXPECT_TRUE(machine->is_signal_frame);
  ASSERT_EQ(machine->count, 2);
  EXPECT_EQ(machine->rules[0], (RegisterRule{pc, RegisterRuleKind::at_register_offset, sp, 0, 8}));
  EXPECT_EQ(machine->rules[1].reg, lr);
  EXPECT_EQ(machine->rules[1].kind, RegisterRuleKind::same_value);

  const auto context = body({0xea});
  ASSERT_TRUE(context);
  EXPECT_EQ(context->cfa_offset, 0x100);
  EXPECT_EQ(context->count, 32);  // x0 to lr and pc
  EXPECT_EQ(context->rules[31], (RegisterRule{pc, RegisterRuleKind::at_register_offset, sp, 0, 0x108}));
  EXPECT_EQ(context->rules[19], (RegisterRule{19, RegisterRuleKind::at_register_offset, sp, 0, 8 + 19 * 8}));

  const auto trap = body({0xe8});
  ASSERT_TRUE(trap);
  EXPECT_EQ(trap->cfa_offset, 0x98);
  EXPECT_EQ(trap->count, 22);  // x0 to x18, fp, lr, pc
  EXPECT_EQ(body({0xeb}).error().code, ErrorCode::malformed);
  EXPECT_EQ(body({0xe9, 0x01}).error().code, ErrorCode::malformed);

  const auto cleared = body({0x02, 0xec});
  expect_rule(cleared, {sp, 32, {}});
  EXPECT_TRUE(cleared->is_signal_frame);
}

// stp fp, lr, [sp, #-48]!; mov fp, sp; stp x19, x20, [sp, #16]
const std::vector<unsigned> kFrame{0xc8, 0x02, 0xe1, 0x85, 0xe4};

TEST(Arm64Rule, PrologueRunsOnlyExecutedCodes) {
  const auto xdata = record(40, kFrame);
  expect_rule(rule_at(0, xdata), {sp, 0, {}});
  expect_rule(rule_at(1, xdata), {sp, 48, {{29, -48}, {30, -40}}});
  expect_rule(rule_at(2, xdata), {fp, 48, {{29, -48}, {30, -40}}});
  // Where sp is not fp's, saves are addressed through sp before fp is undone.
  const auto full = rule_at(3, xdata);
  ASSERT_TRUE(full);
  EXPECT_EQ(full->cfa_register, fp);
  ASSERT_EQ(full->count, 4);
  EXPECT_EQ(full->rules[0], (RegisterRule{19, RegisterRuleKind::at_register_offset, sp, 0, 16}));
  expect_rule(rule_at(2, xdata, true), {fp, 48, {{29, -48}, {30, -40}}});
}

// Epilogue codes: ldp x19, x20, [sp, #16]; ldp fp, lr, [sp], #48; ret
const std::vector<unsigned> kWithEpilogue{0xc8, 0x02, 0xe1, 0x85, 0xe4, 0xc8, 0x02, 0x85, 0xe4};

void expect_epilogue(const std::vector<std::byte>& xdata, unsigned start) {
  expect_rule(rule_at(start, xdata), {sp, 48, {{19, -32}, {20, -24}, {29, -48}, {30, -40}}});
  expect_rule(rule_at(start + 1, xdata), {sp, 48, {{29, -48}, {30, -40}}});
  expect_rule(rule_at(start + 2, xdata), {sp, 0, {}});
  const auto before = rule_at(start - 1, xdata);
  ASSERT_TRUE(before);
  EXPECT_EQ(before->cfa_register, fp);
}

TEST(Arm64Rule, EpilogueScopes) {
  for (const bool extended : {false, true}) {
    const auto xdata = record(60, kWithEpilogue, {{20, 5}, {40, 5}}, extended);
    expect_epilogue(xdata, 20);
    expect_epilogue(xdata, 40);
    const auto between = rule_at(23, xdata);
    ASSERT_TRUE(between);
    EXPECT_EQ(between->cfa_register, fp);
    // A return address is never in an epilogue.
    EXPECT_EQ(rule_at(42, xdata, true)->cfa_register, fp);
    EXPECT_EQ(*arm64_function_length(MappedUnwindData(xdata, kXdata), kFunction), 240u);
  }
}

TEST(Arm64Rule, SingleEpilogueAtTheEnd) {
  expect_epilogue(record(60, kWithEpilogue, {}, false, 5), 57);
  expect_epilogue(record(60, kWithEpilogue, {}, true, 5), 57);
  const auto behind = rule_at(60, record(60, kWithEpilogue, {}, false, 5), true);
  ASSERT_TRUE(behind);
  EXPECT_EQ(behind->cfa_register, fp);
}

TEST(Arm64Rule, ManyScopesAreReadInPieces) {
  std::vector<std::pair<unsigned, unsigned>> scopes;
  for (unsigned i = 0; i < 300; i++) scopes.emplace_back(10 + 4 * i, 5);
  const auto xdata = record(2000, kWithEpilogue, scopes, true);
  expect_epilogue(xdata, 10);
  expect_rule(rule_at(10 + 4 * 299 + 2, xdata), {sp, 0, {}});
}

TEST(Arm64Rule, FragmentsContinueBehindEndC) {
  const auto xdata = record(40, {0xe5, 0xe1, 0x85, 0xe4});
  expect_rule(rule_at(0, xdata), {fp, 48, {{29, -48}, {30, -40}}});
  // A fragment with a prologue of its own.
  const auto more = record(40, {0x02, 0xe5, 0x85, 0xe4});
  expect_rule(rule_at(0, more), {sp, 48, {{29, -48}, {30, -40}}});
  expect_rule(rule_at(1, more), {sp, 80, {{29, -48}, {30, -40}}});
}

TEST(Arm64Rule, ForwardedRows) {
  std::vector<std::byte> image;
  append(image, 0x2000);
  append(image, 8);
  const auto xdata = record(40, kFrame);
  image.insert(image.end(), xdata.begin(), xdata.end());
  const MappedUnwindData data(image, 0);
  // The target's row lies at 0 and its record at 8; nothing has run yet.
  expect_rule(arm64_rule(data, {{0x1000, 0, 3}, 0x1004, false}), {sp, 0, {}});
  EXPECT_EQ(*arm64_function_length(data, {0x1000, 0, 3}), 160u);
  EXPECT_EQ(arm64_rule(data, {{0x1000, 0, 7}, 0x1004, false}).error().code, ErrorCode::unsupported);
  std::vector<std::byte> loop;
  append(loop, 0x2000);
  append(loop, 3);
  EXPECT_EQ(arm64_rule(MappedUnwindData(loop), {{0x1000, 0, 3}, 0x1004, false}).error().code, ErrorCode::malformed);
}

TEST(Arm64Rule, HostileRecords) {
  const auto xdata = record(60, kWithEpilogue, {{20, 5}}, true);
  for (std::size_t n = 0; n < xdata.size(); n++) {
    EXPECT_FALSE(arm64_rule(std::span(xdata).first(n), {kFunction, 0x1064, false}));
  }
  auto version = record(60, kFrame);
  version[2] = std::byte{4};
  EXPECT_EQ(rule_at(9, version).error().code, ErrorCode::unsupported);
  EXPECT_EQ(body({0xdf, 0}).error().code, ErrorCode::malformed);
  EXPECT_EQ(body({0xf0}).error().code, ErrorCode::malformed);
  EXPECT_EQ(body({0xcb, 0xc0}).error().code, ErrorCode::malformed);  // a pair from x34 on
  EXPECT_EQ(body({0x83, 0xe1}).error().code, ErrorCode::malformed);  // fp restored, then used
  EXPECT_EQ(rule_at(200, record(400, {0xe3, 0xe3, 0xe3, 0xe0})).error().code, ErrorCode::truncated);
}

TEST(Arm64Rule, RandomRecordsNeverCrash) {
  std::mt19937 random(1);
  std::vector<std::byte> xdata(4096);
  for (unsigned i = 0; i < 20000; i++) {
    for (std::size_t k = 0; k < 64; k++) xdata[k] = static_cast<std::byte>(random());
    xdata[2] &= std::byte{0xf3};  // version 0
    const auto size = static_cast<std::size_t>(random() % 2 == 0 ? xdata.size() : random() % 64);
    const auto pc = static_cast<std::uint32_t>(0x1000 + 4 * (random() % 64));
    const auto rule = arm64_rule(std::span(xdata).first(size), {kFunction, pc, (i & 1) != 0});
    if (rule) {
      EXPECT_LE(rule->count, UnwindRule::kMaxRules);
    }
    const RuntimeFunction packed{0x1000, 0, static_cast<std::uint32_t>((random() & ~3u) | 1u)};
    const auto other = arm64_rule(std::span<const std::byte>{}, {packed, pc, false});
    if (other) {
      EXPECT_LE(other->count, UnwindRule::kMaxRules);
    }
  }
}

}  // namespace
}  // namespace mixstack::unwind::windows
