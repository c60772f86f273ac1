#include "dotnet/async/heap_scan.h"

#include <gtest/gtest.h>

#include "support/fake_heap.h"

namespace mixstack::dotnet::objects {
namespace {

using test::FakeHeap;

class HeapScanTest : public ::testing::Test {
 protected:
  HeapScan scan() { return scan({heap_.region()}); }
  HeapScan scan(const std::vector<AddressRange>& regions, const MemoryReader* memory = nullptr) {
    const MemoryReader& from = memory != nullptr ? *memory : heap_.memory;
    PageStore store(from);
    const RuntimeMemory runtime(store, heap_.layouts);
    names::MethodNames names(runtime, {});
    LoadedTypes types(runtime, names);
    ManagedObjects objects(types);
    CodeManager code(runtime, heap_.contracts);
    Delegates delegates(objects, code, names);
    StateMachines machines(objects, delegates);
    HeapScanner scanner(objects, machines);
    scanner.find_types();
    types_.assign(scanner.types().begin(), scanner.types().end());
    const HeapScan told = scanner.scan(regions, from, store);
    saw_marks_ = scanner.saw_marks();
    boxes_.clear();
    for (const FoundBox& box : scanner.boxes()) boxes_.push_back(box.address);
    return told;
  }

  FakeHeap heap_;
  std::vector<Address> types_, boxes_;
  bool saw_marks_ = false;
};

TEST_F(HeapScanTest, FindsBoxesByTheirTypes) {
  const Address get = heap_.box(heap_.get_box);
  (void)heap_.promise();
  const Address load = heap_.box(heap_.load_box);
  const HeapScan told = scan();
  EXPECT_EQ(boxes_, (std::vector<Address>{get, load}));
  EXPECT_EQ(told.suspended, 2U);
  EXPECT_EQ(told.running, 0U);
  EXPECT_EQ(told.missing, 0U);
  EXPECT_EQ(told.bytes, heap_.region().size());
}

TEST_F(HeapScanTest, TypesOfTheSameNamesInOtherAssembliesAreNone) {
  const Address box = heap_.box(heap_.imitation);
  heap_.memory.put_u64(box + FakeHeap::kMachine, box);
  (void)scan();
  EXPECT_EQ(types_, (std::vector<Address>{heap_.get_box, heap_.load_box, heap_.thunk_task}));
  EXPECT_TRUE(boxes_.empty());
}

TEST_F(HeapScanTest, MarksOfACollectionAreSeen) {
  const Address box = heap_.box(heap_.get_box);
  (void)scan();
  EXPECT_FALSE(saw_marks_);
  heap_.memory.put_u64(box, heap_.get_box | 1);
  (void)scan();
  EXPECT_TRUE(saw_marks_);
}

TEST_F(HeapScanTest, RunningOnesAreToldApart) {
  const Address box = heap_.box(heap_.get_box);
  heap_.memory.put_u32(box + FakeHeap::kMachine + FakeHeap::kState, 0xffffffff);
  const HeapScan told = scan();
  EXPECT_EQ(told.suspended, 0U);
  EXPECT_EQ(told.running, 1U);
}

TEST_F(HeapScanTest, WhatLooksLikeABoxIsNone) {
  const auto expect_none = [&](Address at, auto value) {
    const Address box = heap_.box(heap_.get_box);
    heap_.memory.put(box + at, value);
    (void)scan();
    EXPECT_TRUE(boxes_.empty()) << at;
    heap_.memory.put_u64(box, heap_.object_type);
  };
  expect_none(static_cast<Address>(-8), std::uint32_t{5});                         // no padding before it
  expect_none(FakeHeap::kFlags, FakeHeap::kWaiting | FakeHeap::kRanToCompletion);  // it has ended
  expect_none(FakeHeap::kMachine + FakeHeap::kBuilder, FakeHeap::kRegion);         // a copy of another one
  expect_none(FakeHeap::kMachine + FakeHeap::kState, std::int32_t{-2});            // the same
  expect_none(FakeHeap::kMachine + FakeHeap::kState, std::int32_t{0x7fffffff});
}

TEST_F(HeapScanTest, ABoxThatReachesBeyondItsRegionIsNone) {
  const Address box = heap_.box(heap_.get_box);
  (void)scan({{FakeHeap::kRegion, box + 55}});
  EXPECT_TRUE(boxes_.empty());
  (void)scan({{FakeHeap::kRegion, box + 56}});
  EXPECT_EQ(boxes_.size(), 1U);
}

TEST_F(HeapScanTest, CyclesInTheTableOfTypesEnd) {
  heap_.memory.put_u64(heap_.type_entries + 16 * 2 + 8, heap_.type_entries);
  (void)heap_.box(heap_.get_box);
  (void)scan();
  EXPECT_EQ(boxes_.size(), 1U);
}

TEST_F(HeapScanTest, PiecesOfARegionAreOne) {
  const Address far = FakeHeap::kRegion + HeapScanner::kPiece - 32;  // across the end of a piece
  heap_.memory.map(far, 0x100000);
  const Address box = heap_.box(heap_.get_box);
  std::array<std::byte, 56> bytes{};
  ASSERT_TRUE(heap_.memory.read_exact(box, bytes).has_value());
  heap_.memory.put_bytes(far, bytes);
  heap_.memory.put_u64(far + FakeHeap::kMachine, far);
  (void)scan({{FakeHeap::kRegion, far + 0x1000}});
  EXPECT_EQ(boxes_, (std::vector<Address>{box, far}));
}

TEST_F(HeapScanTest, PagesThatAreNotThereAreCounted) {
  const Address box = heap_.box(heap_.get_box);
  const Address hole = FakeHeap::kRegion + FakeHeap::kRegionSize;
  const HeapScan told = scan({{FakeHeap::kRegion, hole + 0x2100}});
  EXPECT_EQ(told.missing, 0x2100U);
  EXPECT_EQ(told.bytes, FakeHeap::kRegionSize);
  EXPECT_EQ(boxes_, (std::vector<Address>{box}));
}

TEST_F(HeapScanTest, RegionsOfNothingEndSoon) {
  const std::uint64_t all = std::uint64_t{1} << 40;
  const HeapScan told = scan({{0x10000000000, 0x10000000000 + all}});
  EXPECT_EQ(told.missing, all);
}

/// Every so many reads the words of the heap change.
class ChangingMemory final : public MemoryReader {
 public:
  explicit ChangingMemory(const MemoryReader& below, unsigned every) : below_(below), every_(every) {}
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    auto n = below_.read_some(address, out);
    if (n && ++reads_ % every_ == 0)
      for (std::size_t i = reads_ % 64; i < *n; i += 61) out[i] ^= std::byte{0x5a};
    return n;
  }

 private:
  const MemoryReader& below_;
  unsigned every_;
  mutable std::size_t reads_ = 0;
};

TEST_F(HeapScanTest, BoxesThatChangeWhileTheyAreReadAreAtMostThoseThatWere) {
  for (int i = 0; i < 50; i++) (void)heap_.box(i % 2 == 0 ? heap_.get_box : heap_.load_box);
  std::size_t some = 0;
  for (unsigned every = 1; every < 80; every++) {
    const ChangingMemory changing(heap_.memory, every);
    (void)scan({heap_.region()}, &changing);
    EXPECT_LE(boxes_.size(), 50U);
    some += boxes_.size();
  }
  EXPECT_GT(some, 0U);
}

}  // namespace
}  // namespace mixstack::dotnet::objects
