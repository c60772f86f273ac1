#include "dotnet/code/code_manager.h"

#include <gtest/gtest.h>

#include <array>

#include "engine/unwind/rule_step.h"
#include "support/dotnet_memory.h"

namespace mixstack::dotnet {
namespace {

using test::DotnetCode;
using test::DotnetMemory;

constexpr Address kHeap = 0x7f1200000000, kHeapEnd = kHeap + 0x40000;

TEST(CodeManager, FindsJittedMethodsTheirFuncletsAndStubs) {
  DotnetMemory t;
  DotnetCode code(t);
  code.add_heap(kHeap, kHeapEnd);
  const auto unwind = DotnetCode::push_rbp();
  // A reserved row that was never filled stands first (oddity 18), a funclet behind the body.
  code.add_method(kHeap + 0x100, 0x300, 0xabc0, {{0, 0, {}}, {0, 0x200, unwind}, {0x200, 0x100, unwind}});
  code.add_stub(kHeap + 0x800, 0x40, 1);
  CodeManager manager(t.runtime(), t.contracts);

  const CodeInfo body = manager.find(CodeAddress::exact(kHeap + 0x100));
  EXPECT_EQ(body.kind, CodeKind::jit);
  EXPECT_EQ(body.method_desc, 0xabc0u);
  EXPECT_EQ(body.method_start, kHeap + 0x100);
  EXPECT_EQ(body.function_end, kHeap + 0x300);
  EXPECT_FALSE(body.is_funclet());
  const CodeInfo funclet = manager.find(CodeAddress::exact(kHeap + 0x350));
  EXPECT_TRUE(funclet.is_funclet());
  EXPECT_EQ(funclet.method_start, kHeap + 0x100);
  EXPECT_EQ(funclet.function_begin, kHeap + 0x300);
  // A return address at the end of the body belongs to the body.
  EXPECT_FALSE(manager.find(CodeAddress::after_call(kHeap + 0x300)).is_funclet());
  EXPECT_TRUE(manager.find(CodeAddress::exact(kHeap + 0x300)).is_funclet());
  // The nibble map still says "that method" behind its end; the rows know better.
  EXPECT_EQ(manager.find(CodeAddress::exact(kHeap + 0x410)).kind, CodeKind::none);
  const CodeInfo stub = manager.find(CodeAddress::exact(kHeap + 0x810));
  EXPECT_EQ(stub.kind, CodeKind::stub);
  EXPECT_EQ(stub.stub, StubKind::jump_stub);
  EXPECT_EQ(stub.method_start, kHeap + 0x800);
  EXPECT_EQ(manager.find(CodeAddress::exact(0x1234)).kind, CodeKind::none);

  auto rule = manager.general(CodeAddress::exact(kHeap + 0x150));
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->origin, StepperId::managed);
  EXPECT_EQ(manager.general(CodeAddress::exact(kHeap + 0x810)).error().code, ErrorCode::not_found);
}

/// The rule at a place, as the walk's engine executes it, is the general one.
TEST(CodeManager, RulesAreCompactAndOfOneGeneration) {
  DotnetMemory t;
  DotnetCode code(t);
  code.add_heap(kHeap, kHeapEnd);
  code.add_method(kHeap + 0x100, 0x300, 0xabc0, {{0, 0x300, DotnetCode::push_rbp()}});
  CodeManager manager(t.runtime(), t.contracts);
  const auto at = CodeAddress::after_call(kHeap + 0x180), other = CodeAddress::after_call(kHeap + 0x190);
  const unwind::CompactRule& rule = manager.compact(at);
  EXPECT_EQ(&rule, &manager.compact(at));
  EXPECT_EQ(&rule, &manager.compact(other)) << "equal rules are one";
  ASSERT_EQ(rule.kind, unwind::CompactKind::register_offset);
  EXPECT_EQ(manager.compact(CodeAddress::exact(kHeap + 0x810)).kind, unwind::CompactKind::none);

  const std::array<std::uint64_t, 4> words{0x1111, 0x2222, 0x401234, 0x3333};
  const StackView stack{0x7000, reinterpret_cast<const std::byte*>(words.data()), sizeof words, nullptr};
  Registers registers(Arch::x86_64), expected(Arch::x86_64);
  for (Registers* r : {&registers, &expected}) {
    r->set_pc(at.raw());
    r->set_sp(0x7000);
    r->set_fp(0x7008);
  }
  ASSERT_TRUE(unwind::apply(*manager.general(at), expected, at, stack));
  unwind::RuleStepper engine(Arch::x86_64);
  EXPECT_EQ(engine.step(at, registers, stack).status, unwind::RuleStatus::no_code) << "no source is bound";
  engine.unbind();
  engine.bind(&manager);
  const auto step = engine.step(at, registers, stack);
  ASSERT_EQ(step.status, unwind::RuleStatus::caller);
  EXPECT_EQ(step.found_by, StepperId::managed);
  EXPECT_EQ(registers, expected);

  // The method was freed, and something else lies there: nothing of it is remembered.
  const std::uint64_t before = manager.generation();
  manager.clear();
  EXPECT_NE(manager.generation(), before);
  DotnetMemory nothing;
  CodeManager empty(nothing.runtime(), nothing.contracts);
  engine.bind(&empty);
  registers.set_sp(0x7000);
  EXPECT_EQ(engine.step(at, registers, stack).status, unwind::RuleStatus::no_code);
}

/// Heaps are marked, and what is in a heap that is not marked is never freed.
TEST(CodeManager, WhatIsNeverFreedIsKnownOverCaptures) {
  constexpr std::uint32_t kCollectibleHeap = 3;
  for (const bool is_collectible : {false, true}) {
    DotnetMemory t;
    DotnetCode code(t);
    const Address heap = code.add_heap(kHeap, kHeapEnd);
    if (is_collectible) code.add_section(kHeap, kHeapEnd, kCollectibleHeap, heap, 0);  // lies before the other
    code.add_method(kHeap + 0x100, 0x300, 0xabc0, {{0, 0x300, DotnetCode::push_rbp()}});
    code.add_stub(kHeap + 0x800, 0x40, 1);
    CodeManager manager(t.runtime(), t.contracts);
    const auto at = CodeAddress::after_call(kHeap + 0x180), in_stub = CodeAddress::exact(kHeap + 0x810);
    const CodeInfo before = manager.find(at);
    ASSERT_EQ(before.method_desc, 0xabc0u);
    EXPECT_EQ(before.is_collectible, is_collectible);
    EXPECT_EQ(CodeManager::is_kept(before), !is_collectible);
    EXPECT_FALSE(CodeManager::is_kept(manager.find(in_stub)));
    ASSERT_EQ(manager.compact(at).kind, unwind::CompactKind::register_offset);

    const DotnetMemory nothing;  // nothing can be read any more
    manager.rebind(nothing.runtime());
    EXPECT_EQ(manager.find(at).is_managed(), !is_collectible);
    EXPECT_EQ(manager.compact(at).kind == unwind::CompactKind::register_offset, !is_collectible);
    EXPECT_EQ(manager.find(in_stub).kind, CodeKind::none);
    manager.forget_images();
    EXPECT_FALSE(manager.find(at).is_managed());
  }
}

TEST(CodeManager, PassesOverSectionsThatAreBeingDeleted) {
  DotnetMemory t;
  DotnetCode code(t);
  code.add_heap(kHeap, kHeapEnd);
  code.add_method(kHeap + 0x100, 0x300, 0xabc0, {{0, 0x300, DotnetCode::push_rbp()}});
  // The section of an unloaded assembly lies before the one that has its addresses now.
  const Address section = code.add_section(kHeap, kHeapEnd, 3, 0, 0);
  const Address mark = section + t.layouts.range_section.next_for_delete.offset;
  CodeManager manager(t.runtime(), t.contracts);
  EXPECT_FALSE(manager.find(CodeAddress::exact(kHeap + 0x150)).is_managed());

  t.memory.put_u64(mark, section);
  manager.clear();
  EXPECT_EQ(manager.find(CodeAddress::exact(kHeap + 0x150)).method_desc, 0xabc0u);
}

// A ReadyToRun image by hand: rows, the map of prepared methods, exception clauses, hot/cold map, thunks.
struct ReadyToRun {
  static constexpr Address kBase = 0x7f3300000000, kSize = 0x20000;
  static constexpr Address kModule = 0x7f4400000000, kInfo = kModule + 0x1000, kBuckets = kModule + 0x4000;
  DotnetMemory t;
  DotnetCode code{t};
  std::uint32_t rows = 0;

  ReadyToRun() {
    auto& m = t.memory;
    m.map(kBase, kSize);
    m.map(kModule, 0x10000);
    const auto& l = t.layouts;
    const auto& i = l.ready_to_run_info;
    m.put_u64(kModule + l.module.ready_to_run_info.offset, kInfo);
    m.put_u64(kInfo + i.composite_info.offset, kInfo);
    m.put_u64(kInfo + i.runtime_functions.offset, kBase + 0x1000);
    m.put_u64(kInfo + i.header.offset, kBase + 0x100);
    m.put_u64(kInfo + i.delay_load_thunks.offset, kBase + 0x80);
    m.put_u32(kBase + 0x80, 0x9000);  // thunks
    m.put_u32(kBase + 0x84, 0x100);
    m.put_u32(kBase + 0x100, 0x00525452);
    m.put_u32(kBase + 0x10c, 1);
    m.put_u32(kBase + 0x110, 104);  // exception info: two entries at 0x3000
    m.put_u32(kBase + 0x114, 0x3000);
    m.put_u32(kBase + 0x118, 16);
    m.put_u64(kInfo + i.entry_point_to_method_desc_map.offset + l.hash_map.buckets.offset, kBuckets);
    m.put_u32(kBuckets, kBucketCount);
    // The method at 0x8000 has a catch handler at 0x8100 and a filter at 0x8200.
    m.put_u32(kBase + 0x3000, 0x8000);
    m.put_u32(kBase + 0x3004, 0x4000);
    m.put_u32(kBase + 0x3008, 0xffffffff);
    m.put_u32(kBase + 0x300c, 0x4000 + 2 * 24);
    const std::uint32_t clauses[2][6] = {{0, 1, 2, 0x100, 0x180, 0}, {1, 1, 2, 0x300, 0x380, 0x200}};
    m.put(kBase + 0x4000, clauses);
  }
  static constexpr std::uint32_t kBucketCount = 7;

  void add_row(std::uint32_t begin, std::uint32_t end) {
    const auto unwind = DotnetCode::push_rbp();
    const std::uint32_t at = 0x6000 + rows * 16;
    t.memory.put_bytes(kBase + at, std::as_bytes(std::span(unwind)));
    const std::uint32_t row[3] = {begin, end, at};
    t.memory.put(kBase + 0x1000 + rows * 12, row);
    rows++;
    t.memory.put_u32(kInfo + t.layouts.ready_to_run_info.num_runtime_functions.offset, rows);
  }
  // HashMap of src/coreclr/vm/hash.cpp, values halved; collisions mark the first value of a full bucket.
  void prepare(std::uint32_t begin, Address method) {
    const Address key = kBase + begin;
    auto& m = t.memory;
    std::uint32_t seed = static_cast<std::uint32_t>(key >> 2);
    const std::uint32_t step = 1 + (static_cast<std::uint32_t>(key >> 5) + 1) % (kBucketCount - 1);
    for (;; seed += step) {
      const Address bucket = kBuckets + (1 + seed % kBucketCount) * 64;
      for (unsigned i = 0; i < 4; i++) {
        if (m.read<std::uint64_t>(bucket + 8 * i).value_or(0) != 0) continue;
        m.put_u64(bucket + 8 * i, key);
        const auto mark = m.read<std::uint64_t>(bucket + 32 + 8 * i).value_or(0) & (1ull << 63);
        m.put_u64(bucket + 32 + 8 * i, method >> 1 | mark);
        return;
      }
      m.put_u64(bucket + 32, m.read<std::uint64_t>(bucket + 32).value_or(0) | 1ull << 63);
    }
  }
  CodeManager manager() {
    code.add_section(kBase, kBase + kSize, 0, 0, kModule);
    return {t.runtime(), t.contracts};
  }
};

/// Counts how often it is asked.
class CountedMemory final : public MemoryReader {
 public:
  explicit CountedMemory(const MemoryReader& memory) : memory_(memory) {}
  [[nodiscard]] Result<std::size_t> read_some(Address at, std::span<std::byte> out) const override {
    reads++;
    return memory_.read_some(at, out);
  }
  mutable std::size_t reads = 0;

 private:
  const MemoryReader& memory_;
};

// Each section says it lists more assemblies than any program has.
TEST(CodeManager, ComponentsOfAllSectionsAreBoundedTogether) {
  ReadyToRun r;
  r.add_row(0x7000, 0x7100);
  r.prepare(0x7000, 0xaaa0);
  constexpr std::uint32_t kSections = 64;
  r.t.memory.put_u32(ReadyToRun::kBase + 0x10c, kSections);
  for (std::uint32_t i = 0; i < kSections; i++) {
    const std::uint32_t section[3] = {115, 0x5000, ~0u};
    r.t.memory.put(ReadyToRun::kBase + 0x110 + 12 * i, section);
  }
  r.code.add_section(ReadyToRun::kBase, ReadyToRun::kBase + ReadyToRun::kSize, 0, 0, ReadyToRun::kModule);
  const CountedMemory counted(r.t.memory);
  CodeManager manager({counted, r.t.layouts}, r.t.contracts);
  EXPECT_EQ(manager.find(CodeAddress::exact(ReadyToRun::kBase + 0x7050)).method_desc, 0xaaa0u);
  EXPECT_LT(counted.reads, 10'000u);
}

TEST(CodeManager, FindsPrecompiledMethodsAndProvesFunclets) {
  ReadyToRun r;
  r.add_row(0x7000, 0x7100);  // prepared
  r.add_row(0x8000, 0x8100);  // prepared, with handlers
  r.add_row(0x8100, 0x8200);  // its catch
  r.add_row(0x8200, 0x8300);  // its filter
  r.add_row(0x8300, 0x8400);  // its other handler
  r.add_row(0x8400, 0x8500);  // a method that was never prepared
  r.prepare(0x7000, 0xaaa0);
  r.prepare(0x8000, 0xbbb0);
  for (std::uint32_t n = 0; n < 20; n++) r.prepare(0xa000 + 4 * n, 0xccc0);  // full buckets, collisions
  auto manager = r.manager();
  const auto at = [&](std::uint32_t rva) { return manager.find(CodeAddress::exact(ReadyToRun::kBase + rva)); };

  EXPECT_EQ(at(0x7050).kind, CodeKind::r2r);
  EXPECT_EQ(at(0x7050).method_desc, 0xaaa0u);
  EXPECT_EQ(at(0x7050).module, ReadyToRun::kModule);
  EXPECT_EQ(at(0x8010).method_desc, 0xbbb0u);
  EXPECT_FALSE(at(0x8010).is_funclet());
  for (const std::uint32_t rva : {0x8110u, 0x8210u, 0x8310u}) {
    EXPECT_TRUE(at(rva).is_funclet()) << rva;
    EXPECT_EQ(at(rva).method_desc, 0xbbb0u) << rva;
    EXPECT_EQ(at(rva).method_start, ReadyToRun::kBase + 0x8000) << rva;
  }
  EXPECT_EQ(at(0x8110).funclet, FuncletKind::catch_handler);
  EXPECT_EQ(at(0x8210).funclet, FuncletKind::filter);
  EXPECT_EQ(at(0x8310).funclet, FuncletKind::catch_handler) << "what a filter guards catches";
  // Never the neighbour's name.
  EXPECT_EQ(at(0x8450).kind, CodeKind::r2r);
  EXPECT_EQ(at(0x8450).method_desc, 0u);
  EXPECT_FALSE(at(0x8450).is_funclet());
  EXPECT_EQ(at(0x9010).stub, StubKind::method_call_thunk);
  EXPECT_EQ(at(0x8510).kind, CodeKind::none);
  EXPECT_EQ(at(0x100).kind, CodeKind::none);
  EXPECT_TRUE(manager.general(CodeAddress::exact(ReadyToRun::kBase + 0x8110)));
}

TEST(CodeManager, MapsColdPartsToTheirMethods) {
  ReadyToRun r;
  r.add_row(0x7000, 0x7100);
  r.add_row(0x7200, 0x7300);
  r.add_row(0xb000, 0xb100);  // cold part of row 0
  r.add_row(0xb200, 0xb300);  // cold part of row 1
  r.add_row(0xb300, 0xb400);  // a cold funclet of row 1
  r.prepare(0x7000, 0xaaa0);
  r.prepare(0x7200, 0xbbb0);
  const auto& i = r.t.layouts.ready_to_run_info;
  r.t.memory.put_u32(ReadyToRun::kInfo + i.num_hot_cold_map.offset, 4);
  r.t.memory.put_u64(ReadyToRun::kInfo + i.hot_cold_map.offset, ReadyToRun::kBase + 0x5000);
  const std::uint32_t map[4] = {2, 0, 3, 1};
  r.t.memory.put(ReadyToRun::kBase + 0x5000, map);
  auto manager = r.manager();
  const auto at = [&](std::uint32_t rva) { return manager.find(CodeAddress::exact(ReadyToRun::kBase + rva)); };
  EXPECT_FALSE(at(0x7010).is_cold);
  EXPECT_TRUE(at(0xb010).is_cold);
  EXPECT_EQ(at(0xb010).method_desc, 0xaaa0u);
  EXPECT_EQ(at(0xb210).method_desc, 0xbbb0u);
  EXPECT_EQ(at(0xb210).method_start, ReadyToRun::kBase + 0x7200);
  EXPECT_FALSE(at(0xb210).is_funclet());
  EXPECT_TRUE(at(0xb310).is_funclet());
  EXPECT_EQ(at(0xb310).funclet, FuncletKind::unknown) << "no clause of its method says";
  EXPECT_EQ(at(0x7210).origin, ReadyToRun::kBase + 0x7200);
  EXPECT_EQ(at(0xb210).origin, ReadyToRun::kBase + 0xb200 - 0x100) << "behind the hot part";
  EXPECT_EQ(at(0xb310).method_desc, 0xbbb0u);
  EXPECT_EQ(at(0xb310).function_begin, ReadyToRun::kBase + 0xb300);
}

TEST(CodeManager, KnowsColdHandlersByTheirMethodsClauses) {
  ReadyToRun r;
  r.add_row(0x7000, 0x7100);
  r.add_row(0x8000, 0x8080);  // with handlers
  r.add_row(0xb000, 0xb080);  // its cold part, which goes on at 0x80
  r.add_row(0xb080, 0xb100);  // 0x100: its catch
  r.add_row(0xb180, 0xb200);  // 0x200: its filter
  r.add_row(0xb200, 0xb280);  // 0x280: none of them
  r.prepare(0x7000, 0xaaa0);
  r.prepare(0x8000, 0xbbb0);
  const auto& i = r.t.layouts.ready_to_run_info;
  r.t.memory.put_u32(ReadyToRun::kInfo + i.num_hot_cold_map.offset, 2);
  r.t.memory.put_u64(ReadyToRun::kInfo + i.hot_cold_map.offset, ReadyToRun::kBase + 0x5000);
  const std::uint32_t map[2] = {2, 1};
  r.t.memory.put(ReadyToRun::kBase + 0x5000, map);
  auto manager = r.manager();
  const auto at = [&](std::uint32_t rva) { return manager.find(CodeAddress::exact(ReadyToRun::kBase + rva)); };
  EXPECT_EQ(at(0xb010).funclet, FuncletKind::none);
  EXPECT_EQ(at(0xb090).funclet, FuncletKind::catch_handler);
  EXPECT_EQ(at(0xb190).funclet, FuncletKind::filter);
  EXPECT_EQ(at(0xb210).funclet, FuncletKind::unknown);
  EXPECT_EQ(at(0xb190).method_start, ReadyToRun::kBase + 0x8000);
}

TEST(CodeManager, ColdPartsMayBeginWithAHandler) {
  ReadyToRun r;
  r.add_row(0x8000, 0x8100);  // with handlers
  r.add_row(0xb000, 0xb080);  // its cold part: 0x100, its catch
  r.prepare(0x8000, 0xbbb0);
  const auto& i = r.t.layouts.ready_to_run_info;
  r.t.memory.put_u32(ReadyToRun::kInfo + i.num_hot_cold_map.offset, 2);
  r.t.memory.put_u64(ReadyToRun::kInfo + i.hot_cold_map.offset, ReadyToRun::kBase + 0x5000);
  const std::uint32_t map[2] = {1, 0};
  r.t.memory.put(ReadyToRun::kBase + 0x5000, map);
  auto manager = r.manager();
  EXPECT_EQ(manager.find(CodeAddress::exact(ReadyToRun::kBase + 0xb010)).funclet, FuncletKind::catch_handler);
}

TEST(CodeManager, BoundsHostileTables) {
  DotnetMemory t;
  DotnetCode code(t);
  code.add_heap(kHeap, kHeapEnd);
  code.add_method(kHeap + 0x100, 0x300, 0xabc0, {{0, 0x300, DotnetCode::push_rbp()}});
  const auto header = t.memory.read<std::uint64_t>(kHeap + 0xf8).value();
  t.memory.put_u32(header + t.layouts.real_code_header.num_unwind_infos.offset, 0xffffffff);
  CodeManager manager(t.runtime(), t.contracts);
  const CodeInfo& info = manager.find(CodeAddress::exact(kHeap + 0x110));
  EXPECT_EQ(info.kind, CodeKind::none);
  EXPECT_EQ(info.error.code, ErrorCode::limit_exceeded);
}

TEST(CodeManager, FindsNothingWithoutTheContract) {
  auto json = test::x64_descriptor();
  json["contracts"]["ExecutionManager"] = 99;
  DotnetMemory t(json);
  DotnetCode code(t);
  code.add_heap(kHeap, kHeapEnd);
  code.add_method(kHeap + 0x100, 0x300, 0xabc0, {{0, 0x300, DotnetCode::push_rbp()}});
  CodeManager manager(t.runtime(), t.contracts);
  EXPECT_EQ(manager.find(CodeAddress::exact(kHeap + 0x110)).kind, CodeKind::none);
}

TEST(CodeManager, RecognisesPrecodeByItsBytes) {
  DotnetMemory t;
  DotnetCode code(t);
  auto& m = t.memory;
  // PlatformMetadata as read from a live 10.0.12 (x64).
  constexpr std::uint8_t kMachine[] = {
      0x00, 0x40, 0x00, 0x00, 0xff, 0x05, 0x02, 0x06, 0x18, 0xff, 0x25, 0xfa, 0x3f, 0x00, 0x00, 0x4c, 0x8b, 0x15, 0xfb,
      0x3f, 0x00, 0x00, 0xff, 0x25, 0xfd, 0x3f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
      0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x01, 0x01, 0x01, 0x01,
      0x18, 0x03, 0x4c, 0x8b, 0x15, 0xf9, 0x3f, 0x00, 0x00, 0xff, 0x25, 0xfb, 0x3f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
      0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
      0x00, 0x00, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x08, 0x07};
  m.put(t.layouts.globals.platform_metadata.value, kMachine);
  constexpr Address kStubs = 0x7f5500000000;
  m.map(kStubs, 0x10000);
  code.add_section(kStubs, kStubs + 0x10000, 4, 0, 0);
  m.put_bytes(kStubs + 24 * 5, std::as_bytes(std::span(kMachine).subspan(9, 24)));
  m.put_u64(kStubs + 24 * 5 + 0x4000 + t.layouts.fixup_precode_data.method_desc.offset, 0xabc0);
  m.put_bytes(kStubs + 0x8000 + 24 * 2, std::as_bytes(std::span(kMachine).subspan(59, 24)));
  const Address data = kStubs + 0x8000 + 24 * 2 + 0x4000;
  m.put_u64(data + t.layouts.stub_precode_data.secret_param.offset, 0xdef0);
  m.put_u8(data + t.layouts.stub_precode_data.type.offset, 5);
  CodeManager manager(t.runtime(), t.contracts);
  const CodeInfo fixup = manager.find(CodeAddress::exact(kStubs + 24 * 5 + 6));
  EXPECT_EQ(fixup.kind, CodeKind::stub);
  EXPECT_EQ(fixup.stub, StubKind::fixup_precode);
  EXPECT_EQ(fixup.method_desc, 0xabc0u);
  EXPECT_EQ(fixup.method_start, kStubs + 24 * 5);
  const CodeInfo import = manager.find(CodeAddress::exact(kStubs + 0x8000 + 24 * 2 + 7));
  EXPECT_EQ(import.stub, StubKind::pinvoke_import_precode);
  EXPECT_EQ(import.method_desc, 0xdef0u);
  // Not precode: the pages in between hold data.
  EXPECT_EQ(manager.find(CodeAddress::exact(kStubs + 0x4000 + 24 * 5)).method_desc, 0u);
}

}  // namespace
}  // namespace mixstack::dotnet
