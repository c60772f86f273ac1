#include "dotnet/counters/counter_reader.h"

#include <gtest/gtest.h>

#include "support/dotnet_memory.h"

namespace mixstack::dotnet::counters {
namespace {

constexpr Address kSettings = 0x800000, kTable = 0x810000, kNumbers = 0x820000, kInfos = 0x830000, kHeaps = 0x840000,
                  kStore = 0x850000, kThread = 0x860000, kLocals = 0x870000;

/// A runtime with counters of its own, at places that are known.
struct Process : test::DotnetMemory {
  CounterPlaces places;
  std::optional<Collector> collector;
  Address lock_contentions = 0;

  Process() {
    for (const Address page : {kSettings, kTable, kNumbers, kInfos, kHeaps, kStore, kThread, kLocals})
      memory.map(page, 0x4000);
    memory.map(layouts.globals.thread_store.value, 8);
    places.exceptions = kNumbers;
    places.methods = kNumbers + 8;
    places.il_bytes = kNumbers + 16;
    places.compile_ticks = kNumbers + 24;
    places.pauses = kNumbers + 32;
    places.pause_factor = 10;
    places.ended_contentions = kNumbers + 40;
    places.contentions_of_thread = {0x21c};
    for (unsigned i = 0; i < 6; i++) memory.put_u64(kNumbers + 8 * i, 100 + i);
    places.settings = kSettings;
    memory.put_u64(kSettings, 12);
    memory.put_u32(kSettings + Settings::kGeneration, 1);
    memory.put_u32(kSettings + Settings::kReason, 4);
    places.generations = kTable;
    for (unsigned i = 0; i < GenerationData::kGenerations; i++) generation(kTable, i, 12 - 2 * i, 1000, 0.5f);
    memory.put_u64(kTable + GenerationData::kClock, 12);
    collector.emplace();
    places.last_infos = {kInfos, kInfos + LastInfo::kSize, 0, 0};
    info(kInfos, 12, 0x8000, 0x1000);
    info(kInfos + LastInfo::kSize, 3, 0x4000, 0x1000);
    places.alloc_pointer = {8};
    places.alloc_limit = {16};
    places.alloc_small = {24};
    places.alloc_large = {32};
    memory.put_u64(layouts.globals.thread_store.value, kStore);
    memory.put_u64(kStore + layouts.thread_store.first_thread_link.offset, link(0));
    thread(0, 4711, 5000, 200, 7000, link(1));
    thread(1, 4712, 100, 0, 0, 0);
  }
  void generation(Address table, unsigned number, std::uint64_t collections, std::uint64_t before, float survived) {
    using D = GenerationData;
    const Address at = table + number * D::kSize;
    memory.put_u64(at + D::kCollections, collections);
    memory.put_u64(at + D::kSizeBefore, before);
    memory.put_u64(at + D::kSizeAfter, before / 2);
    memory.put_u64(at + D::kBudget, 64);
    memory.put_u64(at + D::kFragmentation, 8);
    memory.put_bytes(at + D::kSurvived, std::as_bytes(std::span(&survived, 1)));
  }
  void info(Address at, std::uint64_t index, std::uint64_t committed, std::uint64_t size) {
    memory.put_u64(at + LastInfo::kIndex, index);
    memory.put_u64(at + LastInfo::kCommitted, committed);
    memory.put_u64(at + LastInfo::kHeapSize, size);
  }
  [[nodiscard]] Address link(unsigned number) const {
    return kThread + 0x1000 * number + layouts.thread.link_next.offset;
  }
  void thread(unsigned number, std::uint64_t os_id, std::uint64_t small, std::uint64_t unused, std::uint64_t large,
              Address next) {
    const Address at = kThread + 0x1000 * number, locals = kLocals + 0x100 * number;
    memory.put_u64(at + layouts.thread.os_id.offset, os_id);
    memory.put_u64(at + layouts.thread.link_next.offset, next);
    memory.put_u64(at + layouts.thread.runtime_thread_locals.offset, locals);
    memory.put_u32(at + 0x21c, 3);
    memory.put_u64(locals + 8, 0x1000);
    memory.put_u64(locals + 16, 0x1000 + unused);
    memory.put_u64(locals + 24, small);
    memory.put_u64(locals + 32, large);
  }
  [[nodiscard]] RuntimeCounters read() const {
    return CounterReader(runtime(), places, collector, lock_contentions).read();
  }
};

TEST(CounterReader, FindsTypesOfExceptionsThatAreHandled) {
  Process p;
  const Address tracker = kNumbers + 0x100, object = kNumbers + 0x200, type = 0x123450;
  std::vector<Address> thrown;
  (void)CounterReader(p.runtime(), p.places, p.collector, 0).read(&thrown);
  EXPECT_TRUE(thrown.empty());
  p.memory.put_u64(kThread + 0x1000 + p.layouts.thread.exception_tracker.offset, tracker);
  p.memory.put_u64(kThread + p.layouts.thread.exception_tracker.offset, 0xdead0000);  // it went on
  p.memory.put_u64(tracker + p.layouts.exception_info.thrown_object.offset, object);
  if (p.layouts.algorithms.thrown_object == ThrownObject::handle) {
    p.memory.put_u64(tracker + p.layouts.exception_info.thrown_object.offset, object + 8);
    p.memory.put_u64(object + 8, object);
  }
  p.memory.put_u64(object + p.layouts.object.method_table.offset, type | 1);
  (void)CounterReader(p.runtime(), p.places, p.collector, 0).read(&thrown);
  EXPECT_EQ(thrown, std::vector<Address>{type});
}

TEST(CounterReader, ReadsWhatIsThere) {
  Process p;
  const RuntimeCounters c = p.read();
  EXPECT_EQ(c.exceptions, 100u);
  EXPECT_EQ(c.methods, 101u);
  EXPECT_EQ(c.il_bytes, 102u);
  EXPECT_EQ(c.compiling, std::chrono::nanoseconds(10300));
  EXPECT_EQ(c.pauses, std::chrono::microseconds(104));
  EXPECT_EQ(c.contentions, 105u + 3 + 3);
  EXPECT_EQ(c.committed, 0x8000u);
  ASSERT_TRUE(c.last);
  EXPECT_EQ(c.last->number, 12u);
  EXPECT_EQ(c.last->generation, 1u);
  EXPECT_EQ(c.last->reason, GcReason::large_objects);
  ASSERT_EQ(c.generations.size(), 5u);
  EXPECT_EQ(c.generations[1].collections, 10u);
  EXPECT_EQ(c.generations[0].survived, 0.5);
  EXPECT_EQ(c.generations[0].size_after, 500u);
  ASSERT_EQ(c.threads.size(), 2u);
  EXPECT_EQ(c.threads[0].os_id, 4711u);
  EXPECT_EQ(c.threads[0].small, 4800u);
  EXPECT_EQ(c.threads[0].large, 7000u);
  EXPECT_EQ(c.threads[1].thread, kThread + 0x1000);
}

TEST(CounterReader, HeapsOfAServerAreSummedUp) {
  Process p;
  p.places.generations = 0;
  p.places.generations_of_heap = {0x100};
  p.collector->is_server = true;
  p.collector->heap_count = kHeaps;
  p.collector->heap_pointers = kHeaps + 8;
  p.memory.put_u32(kHeaps, 2);
  p.memory.put_u64(kHeaps + 8, kHeaps + 16);
  p.memory.put_u64(kHeaps + 16, kHeaps + 0x1000);
  p.memory.put_u64(kHeaps + 24, kHeaps + 0x2000);
  for (unsigned i = 0; i < GenerationData::kGenerations; i++) {
    p.generation(kHeaps + 0x1100, i, 12 - i, 1000, 1);
    p.generation(kHeaps + 0x2100, i, 7, 3000, 0);
  }
  p.memory.put_u64(kHeaps + 0x1100 + GenerationData::kClock, 12);
  const RuntimeCounters c = p.read();
  EXPECT_TRUE(c.is_server);
  ASSERT_EQ(c.generations.size(), 5u);
  EXPECT_EQ(c.generations[0].collections, 12u);
  EXPECT_EQ(c.generations[0].size_before, 4000u);
  EXPECT_EQ(c.generations[0].survived, 0.25);
  // A new heap holds any bytes where the size before would be.
  p.memory.put_u64(kHeaps + 0x2100 + GenerationData::kSizeBefore, 0xbaadf00dbaadf00d);
  const RuntimeCounters again = p.read();
  ASSERT_EQ(again.generations.size(), 5u);
  EXPECT_EQ(again.generations[0].size_before, 1000u);
  EXPECT_EQ(again.generations[0].survived, 1.0);
  p.memory.put_u32(kHeaps, 5000);
  EXPECT_TRUE(p.read().generations.empty());
}

TEST(CounterReader, NumbersThatDisagreeAreLeftOut) {
  Process p;
  p.memory.put_u64(kTable + GenerationData::kClock, 40);
  EXPECT_TRUE(p.read().generations.empty());
  p.memory.put_u64(kTable + GenerationData::kClock, 12);
  p.memory.put_u64(kTable + 2 * GenerationData::kSize + GenerationData::kCollections, 11);  // more than of generation 1
  EXPECT_TRUE(p.read().generations.empty());
  p.memory.put_u64(kInfos + LastInfo::kCommitted, 0x8001);  // no page: the older one is left
  EXPECT_EQ(p.read().committed, 0x4000u);
  p.memory.put_u32(kSettings + Settings::kReason, 1000);
  EXPECT_FALSE(p.read().last);
  p.memory.put_u64(kLocals + 16, 0x10);  // the limit before the pointer
  const RuntimeCounters c = p.read();
  ASSERT_EQ(c.threads.size(), 1u);
  EXPECT_EQ(c.threads[0].os_id, 4712u);
}

TEST(CounterReader, NothingBeforeTheFirstCollection) {
  Process p;
  p.memory.put_u64(kSettings, 0);
  EXPECT_FALSE(p.read().last);
}

TEST(CounterReader, AListWithoutEndGivesNoThread) {
  Process p;
  p.memory.put_u64(kThread + 0x1000 + p.layouts.thread.link_next.offset, p.link(0));
  const RuntimeCounters c = p.read();
  EXPECT_TRUE(c.threads.empty());
  EXPECT_FALSE(c.contentions);
  EXPECT_TRUE(c.exceptions);
}

TEST(CounterReader, DeadThreadsHaveNoBytes) {
  Process p;
  p.memory.put_u32(kThread + p.layouts.thread.state.offset, 0x800);
  const RuntimeCounters c = p.read();
  ASSERT_EQ(c.threads.size(), 1u);
  EXPECT_EQ(c.contentions, 105u + 3 + 3);
}

TEST(CounterReader, LocksCountToo) {
  Process p;
  p.lock_contentions = kNumbers + 8;
  EXPECT_EQ(p.read().contentions, 105u + 3 + 3 + 101);
  p.places.contentions_of_thread = {};
  EXPECT_FALSE(p.read().contentions);  // monitors are apart, and not known
  p.places.monitors_are_locks = true;
  EXPECT_EQ(p.read().contentions, 101u);
  p.lock_contentions = 0;
  EXPECT_FALSE(p.read().contentions);
}

TEST(CounterReader, NothingIsKnownOfNoPlaces) {
  Process p;
  p.places = {};
  const RuntimeCounters c = p.read();
  EXPECT_FALSE(c.exceptions || c.methods || c.il_bytes || c.compiling || c.contentions || c.pauses || c.last ||
               c.committed);
  EXPECT_TRUE(c.generations.empty());
  EXPECT_TRUE(c.threads.empty());
}

}  // namespace
}  // namespace mixstack::dotnet::counters
