#include "dotnet/heap/heap_walk.h"

#include <gtest/gtest.h>

#include "dotnet/heap/heap_counter.h"
#include "support/fake_heap.h"

namespace mixstack::dotnet::objects {
namespace {

class HeapWalkTest : public ::testing::Test {
 protected:
  static constexpr Address kRegion = test::FakeHeap::kRegion, kSegment = test::FakeHeap::kSegment;

  GcRegions regions() {
    auto found = GcRegionReader(heap_.runtime(), test::FakeHeap::kDacTable).read();
    EXPECT_TRUE(found.has_value()) << found.error().text;
    return found ? std::move(*found) : GcRegions{};
  }
  /// An object whose first word is its type's; `bytes` in all.
  Address make(Address type, std::uint32_t bytes, std::uint32_t length = 0) {
    const Address at = next_;
    heap_.memory.put_u64(at, type);
    heap_.memory.put_u32(at + 8, length);
    next_ += bytes;
    heap_.set_end(next_);
    return at;
  }
  RegionCount count(std::span<const AllocationContext> contexts = {}) {
    const GcRegions gc = regions();
    EXPECT_EQ(gc.regions.size(), 1U);
    return walk_.count(gc.regions.at(0), contexts, bytes_of(heap_.memory, piece_));
  }
  std::uint64_t objects(const RegionCount& c, Address type) {
    std::uint64_t n = 0;
    for (const TypeSum& s : c.sums)
      if (sizes_[s.type].method_table == type) n += s.count;
    return n;
  }

  test::FakeHeap heap_;
  ObjectSizes sizes_{heap_.runtime()};
  HeapWalk walk_{sizes_};
  Address next_ = kRegion;
  std::size_t piece_ = 4096;
};

TEST_F(HeapWalkTest, CountsObjectsAndArrays) {
  make(heap_.object_type, 24);
  make(heap_.array, 24 + 8 * 3, 3);
  make(heap_.object_type | 1, 24);  // the collector's bit
  for (const std::size_t piece : {16U, 48U, 4096U}) {
    piece_ = piece;
    const RegionCount c = count();
    EXPECT_EQ(c.end, RegionCount::End::whole);
    EXPECT_EQ(objects(c, heap_.object_type), 2U);
    EXPECT_EQ(objects(c, heap_.array), 1U);
  }
}

TEST_F(HeapWalkTest, GoesOnBehindRoomForNewObjects) {
  make(heap_.object_type, 24);
  const Address pointer = next_;
  next_ += 0x100 + 24;
  make(heap_.object_type, 24);
  const AllocationContext context{pointer, pointer + 0x100};
  const RegionCount c = count({&context, 1});
  EXPECT_EQ(c.end, RegionCount::End::whole);
  EXPECT_EQ(objects(c, heap_.object_type), 2U);
}

TEST_F(HeapWalkTest, AnObjectInTheMakingIsLeftOut) {
  make(heap_.object_type, 24);
  next_ += 40;  // zeros
  const AllocationContext context{next_, next_ + 0x100};
  next_ += 0x100 + 24;
  heap_.set_end(next_);
  const RegionCount c = count({&context, 1});
  EXPECT_EQ(c.end, RegionCount::End::whole);
  EXPECT_EQ(objects(c, heap_.object_type), 1U);
  EXPECT_EQ(count().end, RegionCount::End::no_type);
}

TEST_F(HeapWalkTest, EndsWhereSomethingIsWrong) {
  make(heap_.object_type, 24);
  const Address array = make(heap_.array, 24, 0);
  heap_.memory.put_u32(array + 8, 1000);
  EXPECT_EQ(count().end, RegionCount::End::beyond);
  heap_.memory.put_u64(array, heap_.object_type + 8);
  const RegionCount c = count();
  EXPECT_EQ(c.end, RegionCount::End::no_type);
  EXPECT_EQ(c.at, array);
  EXPECT_EQ(objects(c, heap_.object_type), 1U);
}

TEST_F(HeapWalkTest, ContextsThatOverlapDoNotStopIt) {
  next_ += 0x200 + 24;
  make(heap_.object_type, 24);
  const std::array contexts{AllocationContext{kRegion, kRegion + 0x200}, AllocationContext{kRegion, kRegion},
                            AllocationContext{kRegion + 8, kRegion + 0x40}};
  const RegionCount c = count(contexts);
  EXPECT_EQ(c.end, RegionCount::End::whole);
  EXPECT_EQ(objects(c, heap_.object_type), 1U);
}

TEST_F(HeapWalkTest, TypesProveThemselves) {
  EXPECT_TRUE(sizes_.find(heap_.object_type));
  EXPECT_TRUE(sizes_.find(heap_.object_type | 7));
  EXPECT_EQ(sizes_.find(heap_.object_type), sizes_.find(heap_.object_type | 1));
  EXPECT_FALSE(sizes_.find(0));
  EXPECT_FALSE(sizes_.find(heap_.object_type + 16));
  EXPECT_FALSE(sizes_.find(kRegion));
}

TEST_F(HeapWalkTest, NamesWhatItCounted) {
  make(heap_.object_type, 24);
  make(heap_.object_type, 24);
  names::MethodNames names(heap_.runtime(), {});
  HeapCounter counter(heap_.runtime(), test::FakeHeap::kDacTable, names);
  const GcRegions gc = regions();
  counter.add(gc.regions.at(0), counter.count(gc.regions.at(0), gc.contexts, bytes_of(heap_.memory, 64)));
  const HeapTypes types = counter.take(gc);
  ASSERT_EQ(types.types.size(), 1U);
  EXPECT_EQ(types.types[0].type, "System.Object");
  EXPECT_EQ(types.types[0].all(), 2U);
  EXPECT_EQ(types.bytes, 48U);
  EXPECT_EQ(types.objects, 2U);
}

TEST_F(HeapWalkTest, RegionsHaveTheirGenerations) {
  make(heap_.object_type, 24);
  const Address large = kSegment + 0x100, frozen = kSegment + 0x200;
  const auto segment = [&](Address at, Address mem, std::uint64_t flags) {
    heap_.memory.put_u64(at, mem + 0x100);
    heap_.memory.put_u64(at + 8, mem + 0x800);
    heap_.memory.put_u64(at + 16, mem + 0x1000);
    heap_.memory.put_u64(at + 32, mem);
    heap_.memory.put_u64(at + 40, flags);
  };
  segment(large, kRegion + 0x80000, 8);
  segment(frozen, kRegion + 0x90000, 1);
  heap_.memory.put_u64(test::FakeHeap::kGenerations + 3 * 256 + 56, large);
  heap_.memory.put_u64(test::FakeHeap::kGenerations + 2 * 256 + 56, frozen);
  const GcRegions gc = regions();
  ASSERT_EQ(gc.regions.size(), 3U);
  EXPECT_EQ(gc.regions[0].generation, HeapGeneration::zero);
  EXPECT_EQ(gc.regions[1].generation, HeapGeneration::large);
  EXPECT_EQ(gc.regions[1].committed, kRegion + 0x80800);
  EXPECT_EQ(gc.regions[2].generation, HeapGeneration::frozen);
  EXPECT_EQ(gc.bytes.at(3), 0x100U);
  heap_.memory.put_u64(large + 48, large);  // a list without end
  EXPECT_FALSE(GcRegionReader(heap_.runtime(), test::FakeHeap::kDacTable).read().has_value());
}

TEST_F(HeapWalkTest, YoungGenerationsOfASegment) {
  for (int i = 0; i < 3; i++) make(heap_.object_type, 24);
  constexpr Address kFields = test::FakeHeap::kVariables + 0x840;
  heap_.memory.put_u32(kFields + 8, 64);  // generation.allocation_start
  heap_.memory.put_u64(test::FakeHeap::kGenerations + 2 * 256 + 56, kSegment);
  heap_.memory.put_u64(test::FakeHeap::kGenerations + 64, kRegion + 48);
  heap_.memory.put_u64(test::FakeHeap::kGenerations + 256 + 64, kRegion + 24);
  const GcRegions gc = regions();
  ASSERT_EQ(gc.regions.size(), 3U);
  for (std::size_t i = 0; i < 3; i++) {
    EXPECT_EQ(gc.regions[i].objects, (AddressRange{kRegion + 24 * i, kRegion + 24 * (i + 1)}));
    EXPECT_EQ(gc.regions[i].generation, static_cast<HeapGeneration>(2 - i));
  }
}

}  // namespace
}  // namespace mixstack::dotnet::objects
