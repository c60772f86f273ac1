#include "features/why/runtime_places.h"

#include <gtest/gtest.h>

namespace mixstack::why {
namespace {

/// Samples of one thread, by names of functions.
class Made {
 public:
  std::uint32_t frame(const std::string& name, const std::string& module, CodeKind kind, bool is_user = false) {
    const auto m = recording.module({.name = module});
    const auto f = recording.function({.name = name, .module = *m, .kind = kind, .is_user = is_user});
    return *recording.frame({.function = *f, .line = 12, .file = *recording.file("a.cs")});
  }
  /// Frames innermost first.
  void sample(std::uint32_t tid, const std::vector<std::uint32_t>& frames, std::uint32_t count) {
    if (!threads.contains(tid)) threads[tid] = *recording.add_thread({.tid = tid, .comm = "worker"});
    std::uint32_t node = 0;
    for (auto f = frames.rbegin(); f != frames.rend(); ++f) node = *recording.node({node, *f});
    const auto context =
        recording.context({.thread = threads[tid], .clock = SampleClock::cpu, .activity = Activity::running});
    ASSERT_TRUE(recording.add({.stack = node, .context = *context, .count = count}));
  }

  Recording recording;
  std::map<std::uint32_t, std::uint32_t> threads;
  const std::uint32_t process = *recording.process({.pid = 1});
  const std::uint32_t parse = frame("Shop.Parse(string)", "Shop", CodeKind::managed, true);
  const std::uint32_t quote = frame("Shop.Quote(int)", "Shop", CodeKind::managed, true);
  const std::uint32_t flush = frame("Shop.Flush()", "Shop", CodeKind::managed, true);
  const std::uint32_t number =
      frame("System.Number.ThrowFormatException()", "System.Private.CoreLib", CodeKind::managed);
  const std::uint32_t dispatch =
      frame("System.Runtime.EH.RhThrowEx(object, ExInfo)", "System.Private.CoreLib", CodeKind::managed);
  const std::uint32_t collect = frame("System.GC.Collect()", "System.Private.CoreLib", CodeKind::managed);
  const std::uint32_t clr = frame("", "libcoreclr.so", CodeKind::runtime);
  const std::uint32_t jit = frame("", "libclrjit.so", CodeKind::runtime);
};

std::vector<SlowCause> of(SlowKind kind) {
  std::vector<SlowCause> causes(1);
  causes[0].kind = kind;
  return causes;
}

TEST(RuntimePlaces, ExceptionsAreThrownByTheMethodBelowTheDispatch) {
  Made made;
  made.sample(7, {made.clr, made.dispatch, made.number, made.parse, made.flush}, 9);
  made.sample(7, {made.flush, made.clr, made.dispatch, made.quote}, 1);  // a filter runs above it
  made.sample(8, {made.quote}, 50);
  auto causes = of(SlowKind::exceptions);
  add_runtime_places(made.recording, {}, causes);
  EXPECT_EQ(causes[0].place, "Shop.Parse(string) in a.cs:12");
  EXPECT_EQ(causes[0].place_samples, 9u);
  EXPECT_EQ(causes[0].samples, 10u);
  EXPECT_EQ(causes[0].more, std::vector<std::string>{"10 % at Shop.Quote(int) in a.cs:12"});
  EXPECT_EQ(throwing_threads(made.recording), std::set<std::uint32_t>{7});
}

TEST(RuntimePlaces, AllocationsWithoutExceptions) {
  Made made;
  made.sample(7, {made.clr, made.quote}, 20);
  made.sample(7, {made.clr, made.dispatch, made.parse}, 60);
  auto causes = of(SlowKind::collections);
  add_runtime_places(made.recording, {}, causes);
  EXPECT_EQ(causes[0].place, "Shop.Quote(int) in a.cs:12");
  causes[0].place.clear();
  add_runtime_places(made.recording, Allocator{.tid = 9, .share = 1, .bytes = 1, .large = 0}, causes);
  EXPECT_EQ(causes[0].place, "") << "the thread that allocates has no samples";
}

TEST(RuntimePlaces, TheThreadThatAllocatesWhileOthersCollect) {
  Made made;
  made.sample(7, {made.quote}, 5);
  made.sample(8, {made.clr, made.parse}, 60);
  auto causes = of(SlowKind::collections);
  add_runtime_places(made.recording, Allocator{.tid = 7, .share = 0.9, .bytes = 1, .large = 0}, causes);
  EXPECT_EQ(causes[0].place, "Shop.Quote(int) in a.cs:12");
}

TEST(RuntimePlaces, WhoForcesCollections) {
  Made made;
  made.sample(7, {made.clr, made.collect, made.flush}, 5);
  made.sample(7, {made.clr, made.quote}, 50);
  auto causes = of(SlowKind::collections);
  causes[0].title = "FORCED COLLECTIONS";
  EXPECT_TRUE(wants_a_caller(causes));
  add_runtime_places(made.recording, {}, causes);
  EXPECT_EQ(causes[0].place, "Shop.Flush() in a.cs:12");
  EXPECT_FALSE(wants_a_caller(causes));
}

TEST(RuntimePlaces, WhoForcesCollectionsByAnInlinedCall) {
  Made made;
  made.sample(7, {made.clr, made.flush}, 5);
  made.sample(7, {made.clr, made.number, made.quote}, 9);  // the class library calls the runtime
  made.sample(7, {made.quote}, 50);
  auto causes = of(SlowKind::collections);
  causes[0].title = "FORCED COLLECTIONS";
  add_runtime_places(made.recording, {}, causes);
  EXPECT_EQ(causes[0].place, "Shop.Flush() in a.cs:12");
  EXPECT_EQ(causes[0].samples, 5u);
}

TEST(RuntimePlaces, WhoForcesCollectionsOfTheServerCollectorIsNotGuessed) {
  Made made;
  made.sample(7, {made.clr, made.flush}, 2);  // something else of the runtime
  made.sample(8, {made.clr}, 40);
  auto causes = of(SlowKind::collections);
  causes[0].title = "FORCED COLLECTIONS";
  add_runtime_places(made.recording, {}, causes);
  EXPECT_EQ(causes[0].place, "");
  EXPECT_TRUE(wants_a_caller(causes)) << "a look at threads may tell";
}

TEST(RuntimePlaces, WhatNeedsTheCompiler) {
  Made made;
  made.sample(7, {made.clr, made.jit, made.clr, made.quote}, 5);
  made.sample(7, {made.clr, made.flush}, 50);
  auto causes = of(SlowKind::compiling);
  add_runtime_places(made.recording, {}, causes);
  EXPECT_EQ(causes[0].place, "Shop.Quote(int) in a.cs:12");
}

}  // namespace
}  // namespace mixstack::why
