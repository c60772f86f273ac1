#include "dotnet/code/exception_clauses.h"

#include <gtest/gtest.h>

#include "support/dotnet_memory.h"

namespace mixstack::dotnet {
namespace {

using test::DotnetMemory;

// Flags of CORINFO_EH_CLAUSE_FLAGS; the last two are among those that say how a clause came to be.
constexpr std::uint32_t kTyped = 0, kFilter = 1, kFinally = 2, kFault = 4, kDuplicate = 8, kSameTry = 16;

ExceptionClause handler(std::uint32_t flags) { return {flags, 0x10, 0x20, 0x100, 0x140, 0x80}; }

TEST(ExceptionClauses, SayWhatBeginsWhere) {
  EXPECT_EQ(funclet_kind(handler(kTyped), 0x100), FuncletKind::catch_handler);
  EXPECT_EQ(funclet_kind(handler(kFinally), 0x100), FuncletKind::finally);
  EXPECT_EQ(funclet_kind(handler(kFault | kDuplicate), 0x100), FuncletKind::fault);
  EXPECT_EQ(funclet_kind(handler(kTyped | kSameTry), 0x100), FuncletKind::catch_handler);
  EXPECT_EQ(funclet_kind(handler(kFilter), 0x80), FuncletKind::filter);
  EXPECT_EQ(funclet_kind(handler(kFilter), 0x100), FuncletKind::catch_handler) << "behind its filter";
  EXPECT_EQ(funclet_kind(handler(kTyped), 0x80), FuncletKind::none) << "a class, no filter";
  EXPECT_EQ(funclet_kind(handler(kFinally), 0x110), FuncletKind::none) << "within it, where no funclet begins";
}

// EE_ILEXCEPTION of a 64-bit runtime, by hand.
struct Jitted {
  static constexpr Address kHeader = 0x7f6000000000, kClauses = kHeader + 0x1008;
  DotnetMemory t;

  Jitted() {
    t.memory.map(kHeader, 0x8000);
    t.layouts.real_code_header.eh_info.offset = 8;
    t.memory.put_u64(kHeader + 8, kClauses);
    constexpr std::uint32_t kKinds[] = {kTyped, kFilter, kFinally, kFault};
    for (std::uint32_t n = 0; n < 4; n++) {
      const std::uint32_t words[] = {kKinds[n], 0, 8, 0x100 * (n + 1), 0x100 * (n + 1) + 0x40, 0, 0x90, 0};
      t.memory.put(kClauses + 8 + n * Address{32}, words);
    }
    set_count(4);
  }
  void set_count(std::uint32_t count) {
    t.memory.put_u32(kClauses - 8, count);
    t.memory.put_u32(kClauses, 0x40 | count * 32 << 8);
  }
  FuncletKind at(std::uint32_t offset) { return jit_funclet_kind(t.runtime(), kHeader, offset); }
};

TEST(ExceptionClauses, OfJittedMethods) {
  Jitted j;
  EXPECT_EQ(j.at(0x100), FuncletKind::catch_handler);
  EXPECT_EQ(j.at(0x90), FuncletKind::filter);
  EXPECT_EQ(j.at(0x200), FuncletKind::catch_handler);
  EXPECT_EQ(j.at(0x300), FuncletKind::finally);
  EXPECT_EQ(j.at(0x400), FuncletKind::fault);
  EXPECT_EQ(j.at(0x500), FuncletKind::unknown);
}

TEST(ExceptionClauses, DamagedOnesSayNothing) {
  Jitted j;
  j.set_count(3);
  EXPECT_EQ(j.at(0x400), FuncletKind::unknown) << "behind the last one";
  j.set_count(ClauseTable::kMaxClauses + 1);
  EXPECT_EQ(j.at(0x100), FuncletKind::unknown);
  j.set_count(4);
  j.t.memory.put_u32(Jitted::kClauses, 0x40 | 3 * 32 << 8);
  EXPECT_EQ(j.at(0x100), FuncletKind::unknown) << "two counts that differ";
  j.t.memory.put_u32(Jitted::kClauses, 0x41 | 4 * 32 << 8);
  EXPECT_EQ(j.at(0x100), FuncletKind::unknown) << "not what a JIT writes";
  j.set_count(2000);  // the bytes end before
  EXPECT_EQ(j.at(0x5000), FuncletKind::unknown);
  j.t.memory.put_u64(Jitted::kHeader + 8, 0);
  EXPECT_EQ(j.at(0x100), FuncletKind::unknown) << "a method without handlers";
  j.t.memory.put_u64(Jitted::kHeader + 8, 0x123456);
  EXPECT_EQ(j.at(0x100), FuncletKind::unknown);
  j.t.layouts.real_code_header.eh_info = {};
  EXPECT_EQ(j.at(0x100), FuncletKind::unknown) << "a runtime that does not describe them";
}

}  // namespace
}  // namespace mixstack::dotnet
