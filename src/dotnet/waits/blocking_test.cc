#include "dotnet/waits/blocking.h"

#include <gtest/gtest.h>

#include "support/fake_heap.h"

namespace mixstack::dotnet::objects {
namespace {

using test::FakeHeap;

/// Counts how often it is asked for many places at once.
class CountingMemory final : public memory::BulkMemory {
 public:
  explicit CountingMemory(const MemoryReader& memory) : memory_(memory) {}
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    return memory_.read_some(address, out);
  }
  void read_ranges(std::span<memory::RangeRead> ranges) const override {
    calls_++;
    for (memory::RangeRead& r : ranges) r.done = r.out.empty() ? 0 : read_some(r.address, r.out).value_or(0);
  }
  [[nodiscard]] unsigned calls() const { return calls_; }

 private:
  const MemoryReader& memory_;
  mutable unsigned calls_ = 0;
};

/// Threads whose native side alone has written their records: no managed code has used the record's type.
class BlockingRecordsTest : public ::testing::Test {
 protected:
  static constexpr Address kThreads = 0x7d0000000000, kEach = 0x10000, kStack = 0x8000;
  static constexpr Address kSlot = 0x28;  // in ThreadLocalData

  static Address thread(unsigned i) { return kThreads + kEach * i; }
  static Address data(unsigned i) { return thread(i) + 0x4000; }
  static AddressRange stack(unsigned i) { return {thread(i) + kStack, thread(i) + kStack + 0x1000}; }
  Address add_thread(unsigned i) {
    heap_.memory.map(thread(i), 0x1000);
    heap_.memory.map(data(i), 0x1000);
    heap_.memory.map(stack(i).begin, 0x1000);
    heap_.memory.put_u64(thread(i) + heap_.layouts.thread.thread_local_data.offset, data(i));
    return thread(i);
  }
  /// A record at an offset of its stack, which is the newest; answers where it lies.
  Address put(unsigned i, Address offset, std::uint64_t pointer, BlockingKind kind, Address next = 0) {
    const Address at = stack(i).begin + offset;
    heap_.memory.put_u64(at, pointer);
    heap_.memory.put_u32(at + 8, static_cast<std::uint32_t>(kind));
    heap_.memory.put_u32(at + 12, 0xffffffff);
    heap_.memory.put_u64(at + 16, next);
    heap_.memory.put_u64(data(i) + kSlot, at);
    return at;
  }
  BlockingRecord newest(unsigned i) {
    const auto records = records_.of(thread(i), stack(i));
    EXPECT_FALSE(records.empty());
    return records.empty() ? BlockingRecord{} : records.front();
  }

  FakeHeap heap_;
  names::MethodNames names_{heap_.runtime(), {}};
  LoadedTypes types_{heap_.runtime(), names_};
  ManagedObjects objects_{types_};
  BlockingRecords records_{objects_};
  CountingMemory now_{heap_.memory};
};

TEST_F(BlockingRecordsTest, RecordsAreReadNewestFirst) {
  add_thread(0);
  const Address outer = put(0, 0x800, 0x5000, BlockingKind::monitor_wait);
  const Address inner = put(0, 0x100, 0x6000, BlockingKind::monitor_enter, outer);
  const auto records = records_.of(thread(0), stack(0));
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].at, inner);
  EXPECT_EQ(records[0].word, 0x6000u);
  EXPECT_EQ(records[1].kind, BlockingKind::monitor_wait);
  EXPECT_TRUE(records_.of(thread(0), {1, 2}).empty()) << "not on the stack";
  put(0, 0x900, 0x6000, BlockingKind::monitor_enter, outer);
  EXPECT_EQ(records_.of(thread(0), stack(0)).size(), 1u) << "the next one lies inside of it";
}

TEST_F(BlockingRecordsTest, ManyAreAskedForAtOnce) {
  std::vector<std::pair<Address, BlockingRecord>> asked;
  for (unsigned i = 0; i < 6; i++) {
    const Address at = add_thread(i);
    put(i, 0x100, 0x5000 + i, BlockingKind::monitor_enter);
    asked.emplace_back(at, newest(i));
  }
  put(1, 0x80, 0x5001, BlockingKind::monitor_enter);   // a newer one
  heap_.memory.put_u64(data(2) + kSlot, 0);            // none any more
  put(3, 0x100, 0x9999, BlockingKind::monitor_enter);  // another lock at the same place
  put(4, 0x100, 0x5004, BlockingKind::monitor_wait);   // the same lock, of which it waits for a pulse
  heap_.memory.put_u64(thread(5) + heap_.layouts.thread.thread_local_data.offset, 0);  // the thread has ended
  const auto still = records_.are_still(asked, now_);
  EXPECT_EQ(now_.calls(), 1u);
  ASSERT_EQ(still.size(), 6u);
  for (unsigned i = 0; i < 6; i++) {
    EXPECT_EQ(still.at(thread(i)), i == 0) << i;
    EXPECT_EQ(records_.is_still(thread(i), asked[i].second, now_), i == 0) << i;
  }
}

TEST_F(BlockingRecordsTest, WhatCannotBeReadIsNotStill) {
  add_thread(0);
  put(0, 0x100, 0x5000, BlockingKind::lock);
  std::vector<std::pair<Address, BlockingRecord>> asked{{thread(0), newest(0)}};
  const test::SparseMemory nothing;
  const CountingMemory gone(nothing);
  EXPECT_FALSE(records_.are_still(asked, gone).at(thread(0)));
  EXPECT_TRUE(records_.are_still({}, now_).empty());
  asked[0].second.at = 0x10;
  EXPECT_FALSE(records_.are_still(asked, now_).at(thread(0)));
}

}  // namespace
}  // namespace mixstack::dotnet::objects
