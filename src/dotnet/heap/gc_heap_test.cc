#include "dotnet/heap/gc_heap.h"

#include <gtest/gtest.h>

#include "support/fake_heap.h"

namespace mixstack::dotnet::objects {
namespace {

class GcHeapTest : public ::testing::Test {
 protected:
  Diagnosed<GcHeap> read() { return GcHeapReader(heap_.runtime(), test::FakeHeap::kDacTable).read(); }
  void put(Address at, std::uint64_t value) { heap_.memory.put_u64(at, value); }

  test::FakeHeap heap_;
  static constexpr Address kSegment = test::FakeHeap::kSegment, kVariables = test::FakeHeap::kVariables;
  static constexpr Address kRegion = test::FakeHeap::kRegion;
};

TEST_F(GcHeapTest, TellsItsRegion) {
  heap_.box(heap_.get_box);
  const auto heap = read();
  ASSERT_TRUE(heap.has_value()) << heap.error().text;
  EXPECT_EQ(heap->regions, (std::vector<AddressRange>{heap_.region()}));
  EXPECT_EQ(heap->state.bytes, heap_.region().size());
  EXPECT_FALSE(heap->state.is_server);
  EXPECT_TRUE(heap->state.is_walkable);
  EXPECT_FALSE(heap->state.collections.has_value());
}

TEST_F(GcHeapTest, OtherRegionsEndWhereTheySay) {
  heap_.box(heap_.get_box);
  const Address other = kSegment + 0x100;
  put(kSegment + 48, other);
  put(other, kRegion + 0x80100);
  put(other + 16, kRegion + 0x90000);
  put(other + 32, kRegion + 0x80000);
  const auto heap = read();
  ASSERT_TRUE(heap.has_value());
  ASSERT_EQ(heap->regions.size(), 2U);
  EXPECT_EQ(heap->regions[1], (AddressRange{kRegion + 0x80000, kRegion + 0x80100}));
}

TEST_F(GcHeapTest, LeavesOutFrozenLargeAndPinnedOnes) {
  heap_.box(heap_.get_box);
  for (const std::uint64_t flag : {1u, 8u, 0x200u}) {
    put(kSegment + 40, flag);
    const auto heap = read();
    ASSERT_TRUE(heap.has_value());
    EXPECT_TRUE(heap->regions.empty());
  }
}

TEST_F(GcHeapTest, BelievesNoTableOfAnotherOrder) {
  for (const unsigned entry : {15u, 17u, 20u, 42u}) {
    const Address at = test::FakeHeap::kDacTable + 8u * entry;
    const auto before = heap_.memory.read<std::uint64_t>(at).value_or(0);
    put(at, before + 8);
    EXPECT_FALSE(read().has_value()) << entry;
    put(at, before);
  }
  EXPECT_TRUE(read().has_value());
  EXPECT_FALSE(GcHeapReader(heap_.runtime(), 0).read().has_value());
}

TEST_F(GcHeapTest, BelievesNoOtherVersion) {
  heap_.memory.put_u8(kVariables, 3);
  EXPECT_FALSE(read().has_value());
  heap_.memory.put_u8(kVariables, 2);
  heap_.memory.put_u8(kVariables + 1, 3);
  EXPECT_FALSE(read().has_value());
}

TEST_F(GcHeapTest, RefusesCyclesOfRegions) {
  heap_.box(heap_.get_box);
  put(kSegment + 48, kSegment);
  EXPECT_FALSE(read().has_value());
}

TEST_F(GcHeapTest, RefusesAbsurdRegions) {
  heap_.box(heap_.get_box);
  for (const Address end : {kRegion - 8, kRegion + test::FakeHeap::kRegionSize + 8, ~Address{0}}) {
    heap_.set_end(end);
    EXPECT_FALSE(read().has_value()) << end;
  }
}

TEST_F(GcHeapTest, RefusesRegionsThatOverlap) {
  heap_.box(heap_.get_box);
  const Address other = kSegment + 0x100;
  put(kSegment + 48, other);
  put(other, kRegion + 0x100);
  put(other + 16, kRegion + 0x1000);
  put(other + 32, kRegion);
  EXPECT_FALSE(read().has_value());
}

TEST_F(GcHeapTest, ReadsTheHeapsOfAServer) {
  heap_.memory.put_u32(kVariables + 0x800, 2);
  put(kVariables + 24 + 8 * 19, kVariables + 0xa00);
  heap_.memory.put_u32(kVariables + 0xa00, 2);
  put(kVariables + 24 + 8 * 20, kVariables + 0xa08);
  put(kVariables + 0xa08, kVariables + 0xa10);
  put(kVariables + 24 + 8 * 27, kVariables + 0xb00);
  heap_.memory.put_u32(kVariables + 0xb00, 0);            // alloc_allocated
  heap_.memory.put_u32(kVariables + 0xb04, 8);            // ephemeral_heap_segment
  heap_.memory.put_u32(kVariables + 0xb08, 16);           // finalize_queue
  heap_.memory.put_u32(kVariables + 0xb00 + 4 * 18, 64);  // generation_table
  for (std::uint64_t h = 0; h < 2; h++) {
    const Address heap = 0x7f0000040000 + h * 0x1000, segment = kSegment + 0x200 + 0x100 * h;
    const Address mem = kRegion + 0x10000 * h;
    heap_.memory.map(heap, 0x1000);
    put(kVariables + 0xa10 + 8 * h, heap);
    put(heap, mem + 0x100);
    put(heap + 8, segment);
    put(heap + 64 + 56, segment);
    put(segment, mem);
    put(segment + 16, mem + 0x10000);
    put(segment + 32, mem);
  }
  const auto heap = read();
  ASSERT_TRUE(heap.has_value()) << heap.error().text;
  EXPECT_TRUE(heap->state.is_server);
  EXPECT_EQ(heap->state.heaps, 2U);
  EXPECT_EQ(heap->regions,
            (std::vector<AddressRange>{{kRegion, kRegion + 0x100}, {kRegion + 0x10000, kRegion + 0x10100}}));
  heap_.memory.put_u32(kVariables + 0xa00, 1 << 20);
  EXPECT_FALSE(read().has_value());
}

/// The same process, described by the collector as .NET 11's does.
class GcHeapOf11Test : public GcHeapTest {
 protected:
  GcHeapOf11Test() {
    const auto at = [](Address a) { return Global{a, true}; };
    heap_.layouts.algorithms.collector = CollectorPlaces::descriptor;
    collector_.generation = {256, {56}};
    collector_.segment = {{0}, {16}, {32}, {40}, {48}};
    collector_.finalize_queue = {{0}};
    globals_.generation_table = at(test::FakeHeap::kGenerations);
    globals_.ephemeral_heap_segment = at(kVariables + 0x828);
    globals_.alloc_allocated = at(kVariables + 0x900);
    globals_.finalize_queue = at(kVariables + 0x908);
    globals_.structure_invalid_count = at(kVariables + 0x830);
    globals_.current_state = at(kVariables + 0x820);
    globals_.lowest_address = at(kVariables + 0x810);
    globals_.highest_address = at(kVariables + 0x818);
    globals_.generation_count = at(5);
    globals_.fill_pointers_length = at(7);
    globals_.mechanisms_length = at(6);
    globals_.global_mechanisms = at(kVariables + 0x910);
    put(kVariables + 0x910 + 8 * 4, 17);
    heap_.memory.map(test::FakeHeap::kDacTable, 0x1000);  // nothing of the table counts
  }
  CollectorLayout& collector_ = heap_.layouts.collector;
  CollectorGlobals& globals_ = collector_.globals;
};

TEST_F(GcHeapOf11Test, TellsItsRegionAndCounts) {
  heap_.box(heap_.get_box);
  constexpr Address kQueue = kVariables + 0xa00;
  put(kVariables + 0x908, kQueue);
  put(kQueue + 8 * 4, 0x1000);
  put(kQueue + 8 * 6, 0x1000 + 8 * 24);
  const auto heap = read();
  ASSERT_TRUE(heap.has_value()) << heap.error().text;
  EXPECT_EQ(heap->regions, (std::vector<AddressRange>{heap_.region()}));
  EXPECT_EQ(heap->state.collections, 17U);
  EXPECT_EQ(heap->state.finalizable, 24U);
  EXPECT_FALSE(heap->state.in_background);
  EXPECT_TRUE(heap->state.is_walkable);
}

TEST_F(GcHeapOf11Test, ReadsTheHeapsOfAServer) {
  globals_.is_server = true;
  EXPECT_FALSE(read().has_value());  // where they are is not told
  globals_.heap_count = {kVariables + 0xa00, true};
  globals_.heaps = {kVariables + 0xa08, true};
  EXPECT_FALSE(read().has_value());  // nor their fields
  collector_.heap = {{64}, {0}, {8}, {16}};
  heap_.memory.put_u32(kVariables + 0xa00, 2);
  put(kVariables + 0xa08, kVariables + 0xa10);
  for (std::uint64_t h = 0; h < 2; h++) {
    const Address heap = 0x7f0000040000 + h * 0x1000, segment = kSegment + 0x200 + 0x100 * h;
    const Address mem = kRegion + 0x10000 * h;
    heap_.memory.map(heap, 0x1000);
    put(kVariables + 0xa10 + 8 * h, heap);
    put(heap, mem + 0x100);
    put(heap + 8, segment);
    put(heap + 64 + 56, segment);
    put(segment, mem);
    put(segment + 16, mem + 0x10000);
    put(segment + 32, mem);
  }
  const auto heap = read();
  ASSERT_TRUE(heap.has_value()) << heap.error().text;
  EXPECT_TRUE(heap->state.is_server);
  EXPECT_EQ(heap->state.heaps, 2U);
  EXPECT_EQ(heap->regions,
            (std::vector<AddressRange>{{kRegion, kRegion + 0x100}, {kRegion + 0x10000, kRegion + 0x10100}}));
  EXPECT_EQ(heap->state.collections, 17U);
}

TEST_F(GcHeapOf11Test, RefusesWhatIsNotAsIsKnown) {
  const auto refused = [&](auto& part, auto wrong) {
    const auto before = part;
    part = wrong;
    EXPECT_FALSE(read().has_value());
    part = before;
  };
  ASSERT_TRUE(read().has_value());
  refused(globals_.generation_count, Global{6, true});
  refused(globals_.fill_pointers_length, Global{8, true});
  refused(globals_.generation_table, Global{});
  refused(globals_.structure_invalid_count, Global{});
  refused(collector_.generation.size, 8U);
  refused(collector_.generation.start_segment, Field{250});
  refused(collector_.segment.next, Field{});
  refused(heap_.layouts.pointer_size, 4U);
}

TEST_F(GcHeapOf11Test, TellsWhyNot) {
  heap_.layouts.algorithms.collector = CollectorPlaces::not_started;
  EXPECT_EQ(read().error().error.code, ErrorCode::not_found);
  heap_.layouts.algorithms.collector = CollectorPlaces::not_known;
  EXPECT_EQ(read().error().error.code, ErrorCode::contract_unsupported);
}

TEST_F(GcHeapTest, KnowsThatObjectsAreMoved) {
  const auto is_moving = [&] { return GcHeapReader(heap_.runtime(), test::FakeHeap::kDacTable).is_moving(); };
  EXPECT_FALSE(is_moving());
  heap_.set_suspended(0x1234);
  EXPECT_TRUE(is_moving());
  heap_.set_suspended(0);
  heap_.memory.put_u32(kVariables + 0x830, 1);
  EXPECT_TRUE(is_moving());
}

}  // namespace
}  // namespace mixstack::dotnet::objects
