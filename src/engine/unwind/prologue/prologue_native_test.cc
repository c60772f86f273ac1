// Prologue analysis of compiled C and C++ against the CFI that the same libraries carry.
#include <gtest/gtest.h>

#include <cstdio>

#include "engine/unwind/prologue/prologue.h"
#include "engine/unwind/prologue/x86_64/instruction.h"
#include "engine/unwind/unwind_table.h"
#include "support/byte_lists.h"
#include "support/host_cpu.h"
#include "support/whole_file.h"

namespace mixstack::unwind {
namespace {

struct Totals {
  unsigned long functions = 0, right = 0, other_base = 0, wrong = 0, declined = 0;
};

/// Padding, which never runs.
bool is_nop(std::span<const std::byte> code) {
  const auto where = prologue::x86_64::layout(code);
  if (where.length == 0) return true;
  const auto opcode = std::to_integer<unsigned>(code[where.opcode_at]);
  return (where.map == 0 && opcode == 0x90) || (where.map == 1 && opcode == 0x1f);
}

/// Compares at every instruction from the start on. CFI of hand-written or cold code begins in the middle of a frame;
/// that of GCC's cold parts does behind a nop.
void check_function(const UnwindTable& table, std::span<const std::byte> code, std::uint64_t begin, Totals& totals) {
  const auto entry = table.interpret(begin);
  if (!entry || entry->cfa_kind != CfaKind::register_offset || entry->cfa_register != x86_64_reg::rsp ||
      entry->cfa_offset != 8 || entry->is_signal_frame || is_nop(code)) {
    return;
  }
  totals.functions++;
  for (std::size_t at = 0; at < code.size();) {
    const auto truth = table.interpret(begin + at);
    if (!truth || truth->cfa_kind != CfaKind::register_offset) break;
    const auto rule = prologue_rule(Arch::x86_64, code, at, false);
    if (is_nop(code.subspan(at))) {
      // skipped
    } else if (!rule) {
      totals.declined++;
    } else if (rule->cfa_register != truth->cfa_register) {
      totals.other_base++;
    } else if (rule->cfa_offset == truth->cfa_offset) {
      totals.right++;
    } else {
      if (totals.wrong++ < 5) {
        std::printf("%llx +%zx: CFA %d, not %d\n", static_cast<unsigned long long>(begin), at, truth->cfa_offset,
                    rule->cfa_offset);
      }
    }
    const unsigned length = prologue::x86_64::layout(code.subspan(at)).length;
    if (length == 0) break;
    at += length;
  }
}

class Library : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(PrologueNative, Library, testing::Values(test::kLibc, "libcoreclr.so", "/proc/self/exe"));

TEST_P(Library, CfaEqualsCfi) {
  const auto path = test::library_file(GetParam());
  if (path.empty() && test::may_be_absent(GetParam())) GTEST_SKIP() << GetParam() << " is not on this machine";
  ASSERT_FALSE(path.empty()) << GetParam() << " is not there";
  const auto image = images::ElfImage::from_file(std::make_shared<test::WholeFile>(path));
  ASSERT_TRUE(image);
  if ((*image)->arch() != Arch::x86_64) GTEST_SKIP() << "of another CPU";
  const auto table = UnwindTable::create(*image);
  Totals t;
  const auto starts = table->function_starts();
  for (std::size_t i = 0; i < starts.size(); i += 1 + starts.size() / 2000) {
    const auto range = table->function_at(starts[i]);
    if (!range || range->size() > 8192) continue;
    const auto code = (*image)->bytes_at(range->begin, range->size());
    if (!code.empty()) check_function(*table, code, range->begin, t);
  }
  std::printf("functions %lu, instructions: right %lu, other base %lu, wrong %lu, declined %lu\n", t.functions, t.right,
              t.other_base, t.wrong, t.declined);
  EXPECT_GT(t.functions, 100u);
  EXPECT_LT(t.wrong * 300, t.right);  // mostly cold parts, whose FDEs begin like whole functions
}

// -fsanitize=function has each function begin with a jump over its signature, whose bytes say anything: here they would
// be a branch and a subtraction that takes `push %rbp` for its constant.
TEST(PrologueNative, WhatAFunctionJumpsOverAtItsStartIsData) {
  const auto bytes =
      test::bytes_of({0xeb, 0x06, 0x76, 0x32, 0x80, 0x6c, 0x22, 0x00,  // jmp +6; 'v', '2', four of a type
                      0x55, 0x48, 0x89, 0xe5, 0x53});                  // push %rbp; mov %rsp,%rbp; push %rbx
  const std::span<const std::byte> code(bytes);
  struct {
    std::size_t at;
    std::uint8_t base;
    int cfa;
  } const expected[] = {
      {0, x86_64_reg::rsp, 8}, {8, x86_64_reg::rsp, 8}, {9, x86_64_reg::rsp, 16}, {12, x86_64_reg::rbp, 16}};
  for (const auto& e : expected) {
    const auto rule = prologue_rule(Arch::x86_64, code, e.at, false);
    ASSERT_TRUE(rule) << e.at;
    EXPECT_EQ(rule->cfa_register, e.base) << e.at;
    EXPECT_EQ(rule->cfa_offset, e.cfa) << e.at;
  }
}

}  // namespace
}  // namespace mixstack::unwind
