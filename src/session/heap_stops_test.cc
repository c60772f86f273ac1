#include "session/heap_stops.h"

#include <gtest/gtest.h>

#include "support/sparse_memory.h"

namespace mixstack::session {
namespace {

using dotnet::objects::GcRegion;
using dotnet::objects::GcRegions;
using dotnet::objects::RegionCount;
using Outcome = HeapTask::Outcome;

/// A process whose collector says what it is told to.
class FakeProcess final : public CollectorState {
 public:
  FakeProcess() { memory.put_u64(0x1000, 7); }
  [[nodiscard]] dotnet::Diagnosed<GcRegions> regions(const MemoryReader& /*now*/) const override { return heap; }
  [[nodiscard]] bool is_moving(const MemoryReader& now) const override {
    if (&now == &memory) return false;
    return moving_stops > 0 && moving_stops-- > 0;
  }
  [[nodiscard]] std::optional<std::uint64_t> collections(const MemoryReader& /*now*/) const override { return all; }
  [[nodiscard]] bool sweeps(const MemoryReader& /*now*/) const override { return false; }

  HeapStops::Sources sources(std::chrono::milliseconds most = std::chrono::seconds(10)) {
    return {memory, *this, old, [this](std::chrono::milliseconds /*most*/) { return stop(); }, most};
  }
  Result<std::shared_ptr<void>> stop() {
    if (is_gone) return fail(ErrorCode::no_such_process);
    if (slow_stops > 0 && slow_stops-- > 0) return fail(ErrorCode::thread_not_stopped, 77);
    held++;
    return std::shared_ptr<void>(&held, [](int* h) { (*h)--; });
  }

  test::SparseMemory memory;
  GcRegions heap;
  mutable int moving_stops = 0;  ///< that fall into a collection
  int slow_stops = 0;            ///< in which a thread does not stop in time
  std::optional<std::uint64_t> all = 5, epoch = 2;
  std::function<std::optional<std::uint64_t>()> old = [this] { return epoch; };
  int held = 0;
  bool is_gone = false;
};

class FakeTask final : public HeapTask {
 public:
  explicit FakeTask(FakeProcess& process) : process_(process) {}
  bool prepare() override {
    prepared++;
    return may_stop;
  }
  Outcome read(const MemoryReader& /*still*/, GcRegions&& /*gc*/, Time /*end*/) override {
    held_in_read = process_.held;
    reads++;
    return outcome;
  }
  bool walk() override {
    held_in_walk = process_.held;
    return walks++ >= torn_walks;
  }

  bool may_stop = true;
  Outcome outcome = Outcome::done;
  int torn_walks = 0;
  int prepared = 0, reads = 0, walks = 0, held_in_read = -1, held_in_walk = -1;

 private:
  FakeProcess& process_;
};

TEST(HeapStops, ReadsInAStopAndWalksBehindIt) {
  FakeProcess process;
  FakeTask task(process);
  HeapStops stops(process.sources());
  EXPECT_TRUE(stops.run(task));
  EXPECT_EQ(task.held_in_read, 1);
  EXPECT_EQ(task.held_in_walk, 0);
  EXPECT_EQ(stops.stops(), 1U);
  EXPECT_GT(stops.pause().count(), 0);
}

TEST(HeapStops, AProcessWhoseThreadDoesNotStopInTimeIsTriedAgain) {
  FakeProcess process;
  process.slow_stops = 2;
  FakeTask task(process);
  HeapStops stops(process.sources());
  EXPECT_TRUE(stops.run(task));
  EXPECT_EQ(stops.stops(), 1U);
  EXPECT_EQ(task.reads, 1);
  process.slow_stops = 1000;
  EXPECT_FALSE(stops.run(task));
  EXPECT_NE(stops.why().find("77"), std::string::npos);
  EXPECT_EQ(process.slow_stops, 1000 - HeapStops::kMostAttempts);
}

TEST(HeapStops, AStopThatFallsIntoACollectionIsMadeAgain) {
  FakeProcess process;
  process.moving_stops = 3;
  FakeTask task(process);
  HeapStops stops(process.sources());
  EXPECT_TRUE(stops.run(task));
  EXPECT_EQ(stops.stops(), 4U);
  EXPECT_EQ(task.prepared, 1);
  process.moving_stops = 1000;
  FakeTask never(process);
  HeapStops all(process.sources());
  EXPECT_FALSE(all.run(never));
  EXPECT_EQ(all.stops(), static_cast<std::uint32_t>(HeapStops::kMostStops));
  EXPECT_EQ(never.reads, 0);
  EXPECT_NE(all.why().find("collection"), std::string::npos);
  EXPECT_EQ(process.held, 0);
}

TEST(HeapStops, WhatIsTornIsReadAgainAFewTimes) {
  FakeProcess process;
  FakeTask task(process);
  task.torn_walks = 2;
  HeapStops stops(process.sources());
  EXPECT_TRUE(stops.run(task));
  EXPECT_EQ(task.walks, 3);
  FakeTask torn(process);
  torn.torn_walks = 1000;
  HeapStops again(process.sources());
  EXPECT_FALSE(again.run(torn));
  EXPECT_EQ(torn.walks, HeapStops::kMostAttempts);
}

TEST(HeapStops, LateStopsSaySo) {
  FakeProcess process;
  FakeTask task(process);
  task.outcome = Outcome::late;
  HeapStops stops(process.sources(std::chrono::milliseconds(3)));
  EXPECT_FALSE(stops.run(task));
  EXPECT_NE(stops.why().find("3 ms"), std::string::npos);
  EXPECT_EQ(task.walks, 0);
  EXPECT_EQ(task.reads, HeapStops::kMostAttempts);
  EXPECT_TRUE(stops.was_late());
  EXPECT_EQ(process.held, 0);
}

TEST(HeapStops, OnlyTheLastAttemptCountsAsLate) {
  FakeProcess process;
  FakeTask task(process);
  task.outcome = Outcome::late;
  HeapStops stops(process.sources());
  EXPECT_FALSE(stops.run(task));
  EXPECT_TRUE(stops.was_late());
  task.outcome = Outcome::failed;
  EXPECT_FALSE(stops.run(task));
  EXPECT_FALSE(stops.was_late());
}

TEST(HeapStops, NoStopWhereItIsRefused) {
  FakeProcess process;
  FakeTask task(process);
  task.may_stop = false;
  HeapStops stops(process.sources());
  stops.refuse("too large");
  EXPECT_FALSE(stops.run(task));
  EXPECT_EQ(stops.stops(), 0U);
  EXPECT_EQ(stops.why(), "too large");
  process.is_gone = true;
  FakeTask late(process);
  HeapStops gone(process.sources());
  EXPECT_FALSE(gone.run(late));
  EXPECT_EQ(late.reads, 0);
  EXPECT_FALSE(gone.why().empty());
}

TEST(HeapStops, TheCountOfOldCollectionsIsThatOfTheStop) {
  FakeProcess process;
  FakeTask task(process);
  HeapStops stops(process.sources());
  EXPECT_TRUE(stops.run(task));
  process.epoch = 3;
  EXPECT_EQ(stops.epoch_in_stop(process.memory), 2U);  // no collection since it was noted
  process.all = 6;
  EXPECT_EQ(stops.epoch_in_stop(process.memory), 3U);
}

TEST(KeptRegions, HoldUntilAnOldCollection) {
  FakeProcess process;
  HeapStops stops(process.sources());
  GcRegion region;
  region.generation = HeapGeneration::two;
  region.objects = {0x1000, 0x1008};
  process.heap.regions = {region};
  KeptRegions<RegionCount> kept;
  int walked = 0;
  const auto walk = [&](const GcRegion&, const dotnet::objects::HeapBytes&) {
    RegionCount count;
    count.end = walked++ == 0 ? RegionCount::End::no_type : RegionCount::End::whole;  // the first is torn
    return count;
  };
  const auto gc = kept.keep_old(stops, process.heap, walk, [](const GcRegions&) { return true; });
  ASSERT_TRUE(gc);
  EXPECT_EQ(walked, 2);
  EXPECT_NE(kept.find(region, 2), nullptr);
  EXPECT_EQ(kept.find(region, 3), nullptr);
  EXPECT_EQ(kept.find(region, std::nullopt), nullptr);
  GcRegion grown = region;
  grown.objects.end += 8;
  EXPECT_EQ(kept.find(grown, 2), nullptr);
  kept.clear();
  EXPECT_FALSE(kept.keep_old(stops, process.heap, walk, [](const GcRegions&) { return false; }));
  process.epoch.reset();
  EXPECT_TRUE(kept.keep_old(stops, process.heap, walk, [](const GcRegions&) { return true; }));
  EXPECT_EQ(walked, 3);  // nothing is kept where collections are not counted
}

}  // namespace
}  // namespace mixstack::session
