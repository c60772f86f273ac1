#include "features/top/call_counts.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "features/top/row_list.h"
#include "support/sample_recording.h"

namespace mixstack::top {
namespace {

constexpr std::uint64_t kPeriod = 10'000'000;  // of the sample recording

RecordingView view_for(const Recording& recording) {
  ProfileOptions options;
  options.idle = true;
  return view_of(recording, options);
}

std::uint64_t time_of(const CallCounts& counts) {
  std::uint64_t all = 0;
  for (const CallCell& cell : counts.cells()) all += cell.time;
  return all;
}

/// A recording of stacks "main;f0", "main;f1", ... of one thread; `f` of them, each as often as `times` says.
class Many {
 public:
  Many() {
    recording.facts.wall_hertz = 100;
    const auto process = recording.process({.pid = 1});
    (void)recording.add_thread({.process = *process, .tid = 7, .comm = "t"});
    main_ = node(0, "main");
  }
  std::uint32_t node(std::uint32_t parent, const std::string& name) {
    const auto function = recording.function({.name = name});
    return *recording.node({parent, *recording.frame({.function = *function})});
  }
  void add(const std::string& name, std::uint32_t times, std::uint32_t tid = 0) {
    std::uint32_t thread = 0;
    if (tid != 0) {
      const auto known = threads_.find(tid);
      thread = known != threads_.end() ? known->second : *recording.add_thread({.tid = tid, .comm = "t"});
      threads_[tid] = thread;
    }
    const auto context = recording.context({.thread = thread, .activity = Activity::running});
    ASSERT_TRUE(recording.add({.stack = node(main_, name), .context = *context, .count = times}));
  }
  void count_in(CallCounts& counts) {
    counts.add(recording, view_for(recording));
    recording.forget_samples();
  }
  Recording recording{};

 private:
  std::uint32_t main_ = 0;
  std::map<std::uint32_t, std::uint32_t> threads_;
};

TEST(CallCounts, AllTimeIsCountedOnce) {
  const Recording recording = testing::sample_recording();
  CallCounts counts;
  counts.add(recording, view_for(recording));
  EXPECT_EQ(time_of(counts), 205 * kPeriod);
  counts.add(recording, view_for(recording));
  EXPECT_EQ(time_of(counts), 410 * kPeriod);
  EXPECT_EQ(counts.threads().size(), 3u) << "two, and the others";
  EXPECT_NE(counts.find_function("App.Work()", CodeKind::managed), kNoIndex);
  EXPECT_EQ(counts.find_function("App.Work()", CodeKind::native), kNoIndex);
  EXPECT_EQ(counts.functions()[counts.find_function("memcpy", CodeKind::native)].module, "libc.so.6");
}

TEST(CallCounts, WhatIsLightMakesRoomForWhatIsHot) {
  CallCounts::Bounds bounds;
  bounds.functions = 64;
  CallCounts counts(bounds);
  Many many;
  std::uint64_t samples = 0;
  for (int round = 0; round < 50; round++) {
    // Functions that are seen once and never again, and two that stay.
    for (int i = 0; i < 10; i++) many.add("once" + std::to_string(round * 10 + i), 1);
    many.add("first", 50);
    if (round >= 40) many.add("late", 100);
    samples += 60 + (round >= 40 ? 100 : 0);
    many.count_in(counts);
    ASSERT_LE(counts.functions().size(), bounds.functions);
  }
  EXPECT_EQ(time_of(counts), samples * kPeriod) << "nothing gets lost";
  const RowList list = functions_of(counts, {});
  std::map<std::string, std::uint64_t> self;
  for (const Row& row : list.rows) self[row.name] = row.self;
  EXPECT_EQ(self["first"], 50u * 50 * kPeriod);
  EXPECT_EQ(self["late"], 10u * 100 * kPeriod);
  EXPECT_GT(self["[other]"], 300u * kPeriod);
}

TEST(CallCounts, ThreadsBeyondTheBoundAreOthers) {
  CallCounts::Bounds bounds;
  bounds.threads = 16;
  CallCounts counts(bounds);
  Many many;
  for (std::uint32_t tid = 100; tid < 200; tid++) {
    many.add("f", 1, tid);
    many.add("f", 10, 50);
    many.count_in(counts);
    ASSERT_LE(counts.threads().size(), bounds.threads);
  }
  const RowList list = threads_of(counts, {});
  EXPECT_EQ(list.selected, 1100 * kPeriod);
  const auto busy = std::find_if(list.rows.begin(), list.rows.end(), [](const Row& row) { return row.tid == 50; });
  ASSERT_NE(busy, list.rows.end());
  EXPECT_EQ(busy->self, 1000 * kPeriod);
}

TEST(CallCounts, FewNodesPlacesAndCellsAreEnoughForSums) {
  for (CallCounts::Bounds bounds :
       {CallCounts::Bounds{.nodes = 16}, CallCounts::Bounds{.cells = 16}, CallCounts::Bounds{.places = 64}}) {
    CallCounts counts(bounds);
    Many many;
    for (int i = 0; i < 200; i++) many.add("f" + std::to_string(i), static_cast<std::uint32_t>(1 + i % 7));
    many.count_in(counts);
    for (int i = 0; i < 200; i++) many.add("g" + std::to_string(i), 1, static_cast<std::uint32_t>(300 + i));
    many.count_in(counts);
    EXPECT_LE(counts.nodes().size(), bounds.nodes);
    EXPECT_LE(counts.cells().size(), bounds.cells + 16);
    std::uint64_t samples = 200;
    for (int i = 0; i < 200; i++) samples += static_cast<std::uint64_t>(1 + i % 7);
    EXPECT_EQ(time_of(counts), samples * kPeriod);
  }
}

TEST(CallCounts, NamesAreMadeFitForATerminal) {
  Many many;
  many.add("evil\x1b[2J\xe2\x80\xaename", 1);
  CallCounts counts;
  many.count_in(counts);
  for (const CountedFunction& f : counts.functions()) {
    EXPECT_EQ(f.name.find('\x1b'), std::string::npos) << f.name;
    EXPECT_EQ(f.name.find("\xe2\x80\xae"), std::string::npos) << f.name;
  }
}

}  // namespace
}  // namespace mixstack::top
