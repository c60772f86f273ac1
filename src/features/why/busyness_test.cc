#include "features/why/busyness.h"

#include <gtest/gtest.h>

#include <vector>

namespace mixstack::why {
namespace {

/// A recording of 100 samples a second, filled by names.
class Made {
 public:
  Made() {
    (void)recording.process({.pid = 1});
    recording.facts.cpu_hertz = 100;
    recording.facts.duration_ns = 1'000'000'000;
  }

  std::uint32_t frame(const std::string& name, const std::string& module, CodeKind kind, bool is_user = false) {
    const auto m = recording.module({.name = module});
    const auto f = recording.function({.name = name, .module = *m, .kind = kind, .is_user = is_user});
    return *recording.frame({.function = *f, .line = 12, .file = *recording.file("a.cs")});
  }
  std::uint32_t thread(std::uint32_t tid, const std::string& comm) {
    return *recording.add_thread({.tid = tid, .comm = comm});
  }
  /// Frames innermost first.
  void sample(std::uint32_t thread, const std::vector<std::uint32_t>& frames, std::uint32_t count,
              Activity activity = Activity::running) {
    std::uint32_t node = 0;
    for (auto f = frames.rbegin(); f != frames.rend(); ++f) node = *recording.node({node, *f});
    const auto context = recording.context({.thread = thread, .clock = SampleClock::cpu, .activity = activity});
    ASSERT_TRUE(recording.add({.stack = node, .context = *context, .count = count}));
  }

  Recording recording;
  const std::uint32_t user = frame("Shop.Cart.Add(int)", "Shop", CodeKind::managed, true);
  const std::uint32_t sort = frame("System.Array.Sort<int>(int[])", "System.Private.CoreLib", CodeKind::managed);
  const std::uint32_t spin = frame("System.Threading.SpinWait.SpinOnce()", "System.Private.CoreLib", CodeKind::managed);
  const std::uint32_t enter =
      frame("System.Threading.Monitor.Enter(object)", "System.Private.CoreLib", CodeKind::managed);
  const std::uint32_t clr = frame("", "libcoreclr.so", CodeKind::runtime);
  const std::uint32_t jit = frame("", "libclrjit.so", CodeKind::runtime);
  const std::uint32_t collector =
      frame("WKS::gc_heap::mark_object_simple(unsigned char**)", "libcoreclr.so", CodeKind::runtime);
  const std::uint32_t libc = frame("memmem", "libc.so.6", CodeKind::native);
  const std::uint32_t yield = frame("__sched_yield", "libc.so.6", CodeKind::native);
  const std::uint32_t zip = frame("deflate", "libSystem.IO.Compression.Native.so", CodeKind::native);
  const std::uint32_t stub = frame("", "", CodeKind::stub);
  const std::uint32_t fault = frame("asm_exc_page_fault", "[kernel]", CodeKind::kernel);
};

TEST(Busyness, AStackTellsWhoseCodeRuns) {
  const Made made;
  const auto kind = [&](std::vector<std::uint32_t> frames) { return kind_of(made.recording, frames); };
  EXPECT_EQ(kind({made.user}), BusyKind::program);
  EXPECT_EQ(kind({made.sort, made.user}), BusyKind::framework);
  EXPECT_EQ(kind({made.spin, made.user}), BusyKind::lock_spinning);
  EXPECT_EQ(kind({made.clr, made.clr, made.enter, made.user}), BusyKind::lock_spinning);
  EXPECT_EQ(kind({made.fault, made.yield, made.clr, made.user}), BusyKind::lock_spinning) << "Thread.Yield, inlined";
  EXPECT_EQ(kind({made.clr, made.user}), BusyKind::runtime);
  EXPECT_EQ(kind({made.libc, made.clr, made.user}), BusyKind::runtime);
  EXPECT_EQ(kind({made.fault, made.clr, made.user}), BusyKind::runtime);
  EXPECT_EQ(kind({made.collector, made.clr, made.user}), BusyKind::gc);
  EXPECT_EQ(kind({made.jit, made.clr, made.user}), BusyKind::jit);
  EXPECT_EQ(kind({made.clr, made.jit, made.clr, made.user}), BusyKind::jit);
  EXPECT_EQ(kind({made.libc, made.stub, made.user}), BusyKind::native);
  EXPECT_EQ(kind({made.libc, made.zip, made.stub, made.sort}), BusyKind::framework);
  EXPECT_EQ(kind({made.libc, made.libc}), BusyKind::native);
  EXPECT_EQ(kind({made.fault, made.user}), BusyKind::kernel);
  EXPECT_EQ(kind({made.fault, made.libc}), BusyKind::kernel);
  EXPECT_EQ(kind({made.stub, made.user}), BusyKind::program);
}

TEST(Busyness, ALibraryThatDotnetOnlyCallsIsNative) {
  Made made;
  const auto crypto = made.frame("sha256_block", "libcrypto.so.3", CodeKind::native);
  made.sample(made.thread(7, "worker"), {made.libc, crypto, made.zip, made.stub, made.sort, made.user}, 50);
  const Busyness busy = busyness_of(made.recording, {});
  EXPECT_EQ(busy.of(BusyKind::native), 50u);
  EXPECT_EQ(busy.library, "libcrypto.so.3");
  EXPECT_EQ(busy.caller, "Shop.Cart.Add(int)");
}

TEST(Busyness, OnlyThreadsThatRanCount) {
  Made made;
  const auto worker = made.thread(7, "worker"), idle = made.thread(8, "idle");
  made.sample(worker, {made.user}, 90);
  made.sample(worker, {made.sort, made.user}, 10, Activity::runnable);
  made.sample(idle, {made.libc}, 100, Activity::waiting);
  const Busyness busy = busyness_of(made.recording, {});
  EXPECT_EQ(busy.samples, 100u);
  EXPECT_EQ(busy.of(BusyKind::program), 90u);
  EXPECT_EQ(busy.of(BusyKind::framework), 10u);
  EXPECT_EQ(busy.threads, (std::vector<BusyThread>{{7, "worker", 100}}));
  ASSERT_EQ(busy.functions.size(), 2u);
  EXPECT_EQ(busy.functions[0].name, "Shop.Cart.Add(int)");
  EXPECT_EQ(busy.functions[0].place, "a.cs:12");
  EXPECT_EQ(busy.functions[0].self, 90u);
  EXPECT_EQ(busy.functions[0].total, 100u);
  EXPECT_EQ(busy.functions[1].kind, BusyKind::framework);
}

TEST(Busyness, AMethodCountsOnceInARecursion) {
  Made made;
  made.sample(made.thread(7, "worker"), {made.user, made.user, made.user}, 5);
  const Busyness busy = busyness_of(made.recording, {});
  ASSERT_EQ(busy.functions.size(), 1u);
  EXPECT_EQ(busy.functions[0].total, 5u);
}

TEST(Busyness, WhoStoppedTheOthersCollected) {
  Made made;
  const auto allocates = made.thread(7, "allocates"), other = made.thread(8, "other");
  made.sample(allocates, {made.clr, made.user}, 80);
  made.sample(allocates, {made.user}, 20);
  made.sample(other, {made.clr, made.user}, 10);
  const Busyness busy = busyness_of(made.recording, {{7, 0.7}});
  EXPECT_EQ(busy.of(BusyKind::gc), 70u);
  EXPECT_EQ(busy.of(BusyKind::runtime), 20u);
  ASSERT_EQ(busy.functions.size(), 2u);
  // The method on whose behalf that was is told first.
  EXPECT_EQ(busy.functions[0].name, "Shop.Cart.Add(int)");
  EXPECT_EQ(busy.functions[0].total, 110u);
  EXPECT_EQ(busy.functions[1].name, "[libcoreclr.so]");
  EXPECT_EQ(busy.functions[1].kind, BusyKind::gc);
  // A suspension explains no more than was spent in the runtime.
  EXPECT_EQ(busyness_of(made.recording, {{7, 1.0}}).of(BusyKind::gc), 80u);
}

TEST(Busyness, ThreadsOfTheRuntimeSayWhatTheyDo) {
  Made made;
  made.sample(made.thread(7, ".NET Server GC"), {made.clr}, 10);
  made.sample(made.thread(8, ".NET Tiered Com"), {made.clr}, 5);
  const Busyness busy = busyness_of(made.recording, {});
  EXPECT_EQ(busy.of(BusyKind::gc), 10u);
  EXPECT_EQ(busy.of(BusyKind::jit), 5u);
}

TEST(Busyness, NothingRan) {
  const Busyness busy = busyness_of(Made().recording, {});
  EXPECT_EQ(busy.samples, 0u);
  EXPECT_FALSE(busy.is_busy());
}

}  // namespace
}  // namespace mixstack::why
