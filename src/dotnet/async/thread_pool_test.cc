#include "dotnet/async/thread_pool.h"

#include <gtest/gtest.h>

#include "support/fake_libraries.h"

namespace mixstack::dotnet::objects {
namespace {

using test::FakeLibraries;

/// A program's pool, with one queue of all and one of a worker.
class ThreadPoolTest : public ::testing::Test {
 protected:
  enum Type : std::size_t { pool, counts, statics, work_queue, local_list, local, queue, segment, ends, slot, item };
  // Offsets in objects, behind the word of their type.
  static constexpr std::uint32_t kMin = 0, kMax = 2, kBlocked = 4, kSeparated = 8, kLast = 8;
  static constexpr std::uint32_t kItems = 8, kSlotSize = 16, kTail = 4, kEnds = 16, kSlots = 8, kFrozen = 24;

  ThreadPoolTest() {
    using F = FakeLibraries;
    types = heap_.load(
        "System.Private.CoreLib",
        {{"System.Threading",
          "PortableThreadPool",
          0,
          0,
          {{"ThreadPoolInstance", 0, F::kReference, true},
           {"_minThreads", kMin, F::kShort},
           {"_maxThreads", kMax, F::kShort},
           {"_numBlockedThreads", kBlocked, F::kShort},
           {"_separated", kSeparated, F::kStruct}}},
         {"", "CacheLineSeparated", 1, 0, {{"counts", 0, F::kUnsignedLong}, {"lastDequeueTime", kLast, F::kInt}}},
         {"System.Threading", "ThreadPool", 0, 0, {{"s_workQueue", 0, F::kReference, true}}},
         {"System.Threading", "ThreadPoolWorkQueue", 0, 0, {{"workItems", kItems}, {"highPriorityWorkItems", 16}}},
         {"", "WorkStealingQueueList", 4, 0, {{"s_queues", 0, F::kReference, true}}},
         {"",
          "WorkStealingQueue",
          4,
          0,
          {{"m_headIndex", 0, F::kInt}, {"m_tailIndex", 4, F::kInt}, {"m_mask", 8, F::kInt}, {"m_array", 16}}},
         {"System.Collections.Concurrent", "ConcurrentQueue`1", 0, 0, {{"_head", 0}}},
         {"System.Collections.Concurrent",
          "ConcurrentQueueSegment`1",
          0,
          0,
          {{"_nextSegment", 0},
           {"_slots", kSlots},
           {"_headAndTail", kEnds, F::kStruct},
           {"_frozenForEnqueues", kFrozen, F::kByte}}},
         {"System.Collections.Concurrent", "PaddedHeadAndTail", 0, 0, {{"Head", 0, F::kInt}, {"Tail", kTail, F::kInt}}},
         {"", "Slot", 8, 0, {{"Item", 0}, {"SequenceNumber", 8, F::kInt}}},
         {"Shop", "Order", 0, 0, {}}},
        true);
    pool_ = heap_.make(types[pool]);
    heap_.memory.put_u64(heap_.statics_of(types[pool]), pool_);
    set_counts(3, 5, 8);
    put16(pool_, kMin, 2);
    put16(pool_, kMax, 32767);
    put16(pool_, kBlocked, 1);
    work_queue_ = heap_.make(types[work_queue]);
    heap_.memory.put_u64(heap_.statics_of(types[statics]), work_queue_);
    locals_ = heap_.statics_of(types[local_list]);
  }

  void put16(Address object, std::uint32_t field, std::uint16_t value) {
    heap_.memory.put_u16(object + 8 + field, value);
  }
  void set_counts(std::uint64_t processing, std::uint64_t existing, std::uint64_t goal) {
    heap_.memory.put_u64(pool_ + 8 + kSeparated, processing | existing << 16 | goal << 32);
  }
  /// A segment of four slots whose head is at `head`; its items are those from there to `tail`.
  Address segment_of(std::uint32_t head, std::uint32_t tail, const std::vector<Address>& items) {
    const Address at = heap_.make(types[segment]), slots = heap_.structs(types[slot], kSlotSize, 4);
    heap_.memory.put_u64(at + 8 + kSlots, slots);
    heap_.memory.put_u32(at + 8 + kEnds, head);
    heap_.memory.put_u32(at + 8 + kEnds + kTail, tail);
    for (std::uint32_t i = 0; i < items.size(); i++) {
      const Address place = heap_.element(slots, (head + i) % 4, kSlotSize);
      heap_.memory.put_u64(place, items[i]);
      heap_.memory.put_u32(place + 8, head + i + 1);  // its turn: it holds an item
    }
    return at;
  }
  void enqueue(Address of_segment, std::uint32_t field = kItems) {
    const Address of_queue = heap_.make(types[queue]);
    heap_.memory.put_u64(of_queue + 8, of_segment);
    heap_.memory.put_u64(work_queue_ + 8 + field, of_queue);
  }
  std::vector<Address> orders(std::size_t count) {
    std::vector<Address> all;
    for (std::size_t i = 0; i < count; i++) all.push_back(heap_.make(types[item]));
    return all;
  }
  std::optional<ThreadPool> read(std::optional<std::int64_t> now = std::nullopt) {
    reader_.emplace(objects_, delegates_, machines_, now);
    return reader_->read();
  }

  FakeLibraries heap_;
  std::vector<Address> types;
  names::MethodNames names_{heap_.runtime(), {}};
  LoadedTypes loaded_{heap_.runtime(), names_};
  ManagedObjects objects_{loaded_};
  CodeManager code_{heap_.runtime(), heap_.contracts};
  Delegates delegates_{objects_, code_, names_};
  StateMachines machines_{objects_, delegates_};
  Address pool_ = 0, work_queue_ = 0, locals_ = 0;
  std::optional<ThreadPoolReader> reader_;
};

TEST_F(ThreadPoolTest, ItsCounts) {
  const auto found = read();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->processing, 3);
  EXPECT_EQ(found->existing, 5);
  EXPECT_EQ(found->goal, 8);
  EXPECT_EQ(found->min, 2);
  EXPECT_EQ(found->max, 32767);
  EXPECT_EQ(found->blocked, 1);
  EXPECT_EQ(found->queued, 0u);
  EXPECT_FALSE(found->since_dequeue) << "without a clock nothing is said";
}

TEST_F(ThreadPoolTest, TheClockOfTheLastItemHas32Bits) {
  heap_.memory.put_u32(pool_ + 8 + kSeparated + kLast, 0xfffffff0u);
  EXPECT_EQ(read(std::int64_t{0x1'0000'0010})->since_dequeue, std::chrono::milliseconds(32));
  heap_.memory.put_u32(pool_ + 8 + kSeparated + kLast, 0x20u);
  EXPECT_EQ(read(std::int64_t{0x10})->since_dequeue, std::chrono::milliseconds(0)) << "taken after our clock was read";
}

TEST_F(ThreadPoolTest, NegativeCountsAreNone) {
  set_counts(0xffff, 5, 8);
  EXPECT_FALSE(read());
}

TEST_F(ThreadPoolTest, NoPoolYet) {
  heap_.memory.put_u64(heap_.statics_of(types[pool]), 0);
  EXPECT_FALSE(read());
}

TEST_F(ThreadPoolTest, ItemsOfAQueueAreCountedByWhatTheyAre) {
  const auto all = orders(3);
  enqueue(segment_of(6, 9, all));  // goes over the end of the ring
  const auto found = read();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->queued, 3u);
  EXPECT_EQ(reader_->items(), all);
  ASSERT_EQ(found->work.size(), 1u);
  EXPECT_EQ(found->work[0].what, "Shop.Order");
  EXPECT_EQ(found->work[0].count, 3u);
  EXPECT_FALSE(found->work[0].is_continuation);
}

TEST_F(ThreadPoolTest, ASlotWhoseTurnItIsNotHoldsNothing) {
  const Address of = segment_of(0, 3, orders(2));  // the third is being written
  enqueue(of);
  EXPECT_EQ(read()->queued, 2u);
}

TEST_F(ThreadPoolTest, SegmentsFollowEachOtherAndAFrozenOneEndsEarlier) {
  const Address first = segment_of(0, 2 + 8, orders(2)), second = segment_of(0, 1, orders(1));
  heap_.memory.put_u8(first + 8 + kFrozen, 1);  // its tail was moved by twice its length
  heap_.memory.put_u64(first + 8, second);
  enqueue(first);
  EXPECT_EQ(read()->queued, 3u);
}

TEST_F(ThreadPoolTest, SegmentsThatFollowThemselvesEnd) {
  const Address only = segment_of(0, 1, orders(1));
  heap_.memory.put_u64(only + 8, only);
  enqueue(only);
  const auto found = read();
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->has_more);
  EXPECT_LE(found->queued, ThreadPoolReader::kMostItems);
}

TEST_F(ThreadPoolTest, ItemsOfAWorkersOwnQueue) {
  const Address own = heap_.make(types[local]);
  const auto two = orders(2);
  heap_.memory.put_u32(own + 8, 3);                                              // head
  heap_.memory.put_u32(own + 8 + 4, 6);                                          // tail
  heap_.memory.put_u32(own + 8 + 8, 3);                                          // mask of four places
  heap_.memory.put_u64(own + 8 + 16, heap_.references({two[1], 0, 0, two[0]}));  // one was taken already
  heap_.memory.put_u64(locals_, heap_.references({own, 0}));
  const auto found = read();
  ASSERT_TRUE(found);
  EXPECT_EQ(reader_->items(), two);
  heap_.memory.put_u32(own + 8 + 4, 2);  // a tail before its head
  EXPECT_EQ(read()->queued, 0u);
}

TEST_F(ThreadPoolTest, AnAsyncMethodThatGoesOnIsNamed) {
  enqueue(segment_of(0, 2, {heap_.box(heap_.get_box), heap_.make(types[item])}));
  const auto found = read();
  ASSERT_TRUE(found);
  ASSERT_EQ(found->work.size(), 2u);
  EXPECT_TRUE(found->work[0].is_continuation);
  EXPECT_NE(found->work[0].what.find("Get"), std::string::npos) << found->work[0].what;
}

TEST_F(ThreadPoolTest, LengthsThatAreNoPowerOfTwoAreNoRing) {
  const Address of = segment_of(0, 2, orders(2));
  const auto slots = heap_.memory.read<std::uint64_t>(of + 8 + kSlots);
  heap_.memory.put_u32(*slots + heap_.layouts.array.num_components.offset, 3);
  enqueue(of);
  EXPECT_EQ(read()->queued, 0u);
}

}  // namespace
}  // namespace mixstack::dotnet::objects
