#include "dotnet/code/code_of_9.h"

#include <gtest/gtest.h>

#include "dotnet/code/frames/frame_chain.h"
#include "dotnet/contracts/contracts.h"
#include "support/dotnet_memory.h"

namespace mixstack::dotnet {
namespace {

// .NET 9.0.18 with hand-made memory: the real one is in tests/live/test_dotnet9.py.
constexpr Address kBase = 0x600000, kTable = 0x8000000;
constexpr std::size_t kEntries = 158;

nlohmann::json descriptor_of_9() { return test::load_descriptor("descriptor-linux-x64-9.0.18.json"); }

struct Net9 {
  explicit Net9(const nlohmann::json& json = descriptor_of_9()) : described(test::parse_descriptor(json)) {
    memory.map(kTable, kEntries * 8);
    for (std::size_t i = 0; i < kEntries; i++) put(i, kBase + 0x1000 * i + 8);
    const std::pair<const char*, std::size_t> shared[] = {
        {"ThreadStore", 16},       {"FinalizerThread", 17},      {"GCThread", 18},
        {"AppDomain", 21},         {"ArrayBoundsZero", 29},      {"ObjectMethodTable", 43},
        {"StringMethodTable", 46}, {"ExceptionMethodTable", 50}, {"FreeObjectMethodTable", 57},
        {"SyncTableEntries", 82}};
    for (const auto& [name, entry] : shared) put(entry, described.global_number(name).value_or(0));
  }
  void put(std::size_t entry, Address value) { memory.put_u64(kTable + 8 * entry, value); }
  [[nodiscard]] ErrorCode refusal(DacTablePlace place) const {
    const auto whole = describe_code_of_9(memory, place, described);
    return whole ? ErrorCode::none : whole.error().error.code;
  }
  static DacTablePlace place(bool is_known_release = false) { return {kTable, kBase, Arch::x86_64, is_known_release}; }
  test::SparseMemory memory;
  Descriptor described;
};

TEST(CodeOf9, IsLeftOutByItsDescriptorOnly) {
  EXPECT_TRUE(leaves_out_code(Net9().described));
  EXPECT_FALSE(leaves_out_code(test::parse_descriptor(test::x64_descriptor())));
  EXPECT_FALSE(leaves_out_code(Descriptor{}));
}

TEST(CodeOf9, CountsOnlyWhereTheCoreLibraryProvesIt) {
  const Net9 net;
  EXPECT_EQ(net.refusal(Net9::place()), ErrorCode::mismatch) << "nothing of it can be read";
  const auto whole = describe_code_of_9(net.memory, Net9::place(true), net.described);
  ASSERT_TRUE(whole) << "a small core of a release that is known by its build id";
  const Layouts layouts = resolve_layouts(*whole);
  const auto contracts = Contracts::judge(*whole, layouts);
  EXPECT_TRUE(contracts.admits(Contract::stack_walk));
  EXPECT_EQ(layouts.algorithms.nibble_map, NibbleMapForm::linear);
  EXPECT_EQ(layouts.thread_store.first_thread_link.offset, 160u) << "what 9 says itself stays";
  EXPECT_EQ(layouts.globals.code_range_map.value, kBase + 8);
  EXPECT_EQ(frame_with(layouts, 0x100, kBase + 0x1000 * 137 + 8).type, FrameType::inlined_call);
  EXPECT_EQ(frame_with(layouts, 0x100, kBase + 0x1000 * 131 + 8).type, FrameType::helper_method);
  EXPECT_EQ(frame_with(layouts, 0x100, 137).type, FrameType::unknown) << "a word that is no vtable";
}

TEST(CodeOf9, WhatContradictsItRefusesIt) {
  Net9 contradicted;  // System.Object's class leads to a module whose tables are no tables
  const Address object = contradicted.described.global_number("ObjectMethodTable").value_or(0);
  for (const Address at : {object, Address{0x20000}, Address{0x21000}, Address{0x22000}})
    contradicted.memory.map(at, 4096);
  contradicted.memory.map(kBase + 8, 256 * 8);  // an empty map of code
  contradicted.memory.put_u64(object, 0x20000);
  contradicted.memory.put_u64(0x20000 + 24, 0x21000);
  contradicted.memory.put_u64(0x21000 + 984, 0x22000);
  contradicted.memory.put_u64(0x22000 + 40, 0x22000);
  EXPECT_EQ(contradicted.refusal(Net9::place(true)), ErrorCode::mismatch);
}

TEST(CodeOf9, IsRefusedByName) {
  const Net9 net;
  EXPECT_EQ(net.refusal({kTable, kBase, Arch::aarch64, true}), ErrorCode::unsupported_cpu);
  EXPECT_EQ(net.refusal({0, kBase, Arch::x86_64, true}), ErrorCode::not_found);
  EXPECT_EQ(net.refusal({0x9000000, kBase, Arch::x86_64, true}), ErrorCode::unreadable_memory);
  Net9 young;
  young.put(0, 0);
  EXPECT_EQ(young.refusal(Net9::place(true)), ErrorCode::not_found);
  Net9 other_table;
  other_table.put(16, 0x1234);
  EXPECT_EQ(other_table.refusal(Net9::place(true)), ErrorCode::contract_unsupported);
  Net9 other_frames;  // two classes of Frame with one vtable
  other_frames.put(137, kBase + 0x1000 * 136 + 8);
  EXPECT_EQ(other_frames.refusal(Net9::place(true)), ErrorCode::contract_unsupported);
  auto json = descriptor_of_9();
  json["types"]["Module"]["ThunkHeap"] = 1040;
  EXPECT_EQ(Net9(json).refusal(Net9::place(true)), ErrorCode::contract_unsupported);
}

}  // namespace
}  // namespace mixstack::dotnet
