#include "features/why/kernel_causes.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

#include "features/why/call_causes.h"
#include "features/why/kernel_test.h"

namespace mixstack::why {
namespace {

using test::milliseconds;
using test::seconds;
using test::TwoLooks;

TEST(KernelCauses, AHealthyProcessHasNone) {
  const TwoLooks looks;
  EXPECT_TRUE(kernel_causes(looks.before, looks.after, looks.evidence).empty());
  EXPECT_TRUE(kernel_causes({}, {}, {}).empty());
}

TEST(KernelCauses, AQuotaStandsAboveWhatIsDear) {
  TwoLooks looks;
  process::QuotaUse use;
  use.quota.quota_us = 50'000;
  use.quota.period_us = 100'000;
  use.periods = 30;
  use.throttled = 10;
  looks.evidence.quota = use;
  looks.evidence.starts = {seconds(1), 20, {{"/bin/sh", 20}}};
  looks.evidence.calls = {100, {{process::DiskCall::sync, 74, "/a", 90}}, {{42, 90}}};
  const auto causes = kernel_causes(looks.before, looks.after, looks.evidence);
  ASSERT_EQ(causes.size(), 3u);
  EXPECT_EQ(causes[0].kind, SlowKind::throttled);
  EXPECT_EQ(causes[1].kind, SlowKind::disk);
  EXPECT_EQ(causes[2].kind, SlowKind::children);
}

/// Samples of a thread in system calls.
struct Samples {
  Samples() {
    (void)recording.process({.pid = 1});
    recording.facts.cpu_hertz = 100;
    thread = *recording.add_thread({.tid = 1});
  }
  std::uint32_t frame(const std::string& name, CodeKind kind, bool is_user, std::uint32_t line) {
    const auto function = recording.function({.name = name, .kind = kind, .is_user = is_user});
    const auto file = is_user ? *recording.file("Note.cs") : kNoIndex;
    return *recording.frame({.function = *function, .line = line, .file = file});
  }
  void sample(const std::vector<std::uint32_t>& frames, std::uint32_t count) {
    std::uint32_t node = 0;
    for (auto f = frames.rbegin(); f != frames.rend(); ++f) node = *recording.node({node, *f});
    const auto context = recording.context({.thread = thread, .clock = SampleClock::cpu});
    ASSERT_TRUE(recording.add({.stack = node, .context = *context, .count = count}));
  }
  Recording recording;
  std::uint32_t thread = 0;
};

TEST(KernelCauses, SamplesInACallTellItsPlace) {
  Samples made;
  const auto copy = made.frame("copy_page_from_iter", CodeKind::kernel, false, 0);
  const auto write = made.frame("__x64_sys_pwrite64", CodeKind::kernel, false, 0);
  const auto clone = made.frame("__arm64_sys_clone3", CodeKind::kernel, false, 0);
  const auto libc = made.frame("pwrite64", CodeKind::native, false, 0);
  const auto log = made.frame("Shop.Note(int)", CodeKind::managed, true, 31);
  const auto other_line = made.frame("Shop.Note(int)", CodeKind::managed, true, 32);
  const auto start = made.frame("Shop.Thumb()", CodeKind::managed, true, 7);
  made.sample({copy, write, libc, log}, 50);
  made.sample({copy, write, libc, other_line}, 20);
  made.sample({copy, write, libc, start}, 3);
  made.sample({clone, start}, 4);
  made.sample({start}, 500);
  std::vector<SlowCause> causes(3);
  causes[0].kind = SlowKind::writes;
  causes[1].kind = SlowKind::children;
  causes[2].kind = SlowKind::crowded;
  add_places(made.recording, causes);
  EXPECT_EQ(causes[0].place, "Shop.Note(int) at Note.cs:31");
  EXPECT_EQ(causes[0].place_samples, 70u);
  EXPECT_EQ(causes[0].samples, 73u);
  EXPECT_EQ(causes[1].place, "Shop.Thumb() at Note.cs:7");
  EXPECT_TRUE(causes[2].place.empty());
}

TEST(KernelCauses, SamplesOfSendingAreNotThoseOfWriting) {
  Samples made;
  const auto queue = made.frame("__tcp_transmit_skb", CodeKind::kernel, false, 0);
  const auto send = made.frame("__sys_sendto", CodeKind::kernel, false, 0);
  const auto write = made.frame("ksys_write", CodeKind::kernel, false, 0);
  const auto libc = made.frame("__send", CodeKind::native, false, 0);
  const auto tick = made.frame("Shop.Tick()", CodeKind::managed, true, 31);
  const auto log = made.frame("Shop.Note(int)", CodeKind::managed, true, 7);
  made.sample({queue, send, libc, tick}, 50);
  made.sample({write, log}, 60);
  std::vector<SlowCause> causes(2);
  causes[0].kind = causes[1].kind = SlowKind::writes;
  causes[0].place_of = kSent;
  causes[1].place_of = "written";
  add_places(made.recording, causes);
  EXPECT_EQ(causes[0].place, "Shop.Tick() at Note.cs:31");
  EXPECT_EQ(causes[1].place, "Shop.Note(int) at Note.cs:7");
}

TEST(KernelCauses, AThreadInACallOfADumpTellsItsPlace) {
  ProcessDump dump;
  dump.symbols.resize(2);
  dump.symbols[1].name = "Shop.Commit()";
  ThreadDump& thread = dump.threads.emplace_back();
  thread.tid = 7;
  thread.syscall = SYS_fsync;
  Frame frame;
  frame.kind = FrameKind::managed;
  thread.trace.frames.push_back(frame);
  thread.symbols.push_back(1);
  std::vector<SlowCause> causes(1);
  causes[0].kind = SlowKind::disk;
  add_places(dump, causes);
  EXPECT_EQ(causes[0].place, "Shop.Commit()");
  EXPECT_EQ(causes[0].place_samples, 1u);
}

TEST(KernelWatch, OfOurselves) {
  KernelWatch watch(static_cast<std::uint32_t>(::getpid()));
  watch.begin();
  std::this_thread::sleep_for(milliseconds(350));
  const KernelEvidence evidence = watch.end();
  EXPECT_GE(evidence.time, milliseconds(200));
  EXPECT_GE(evidence.memory.size(), 2u);
  EXPECT_NE(evidence.arch, Arch::unknown);
  ASSERT_TRUE(evidence.uptime);
  EXPECT_TRUE(watch.end().memory.empty()) << "it has ended";
}

TEST(KernelWatch, OfAProcessThatIsNotThere) {
  KernelWatch watch(0x7ffffff0);
  watch.begin();
  EXPECT_EQ(watch.end().time.count(), 0);
}

}  // namespace
}  // namespace mixstack::why
