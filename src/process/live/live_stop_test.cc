// A stop does not disturb the target, however that behaves meanwhile.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "process/live/live_target.h"
#include "process/live/test_process.h"
#include "support/host_cpu.h"

namespace mixstack::process {
namespace {

using namespace test;

CaptureRequest within(std::chrono::milliseconds timeout) {
  CaptureRequest r;
  r.stop_timeout = timeout;
  return r;
}
const CaptureRequest kPatient = within(20s);

void* sleeping_thread(void* shared) {
  static_cast<Shared*>(shared)->ready++;
  for (;;) ::pause();
}

/// Not more than a hundred at a time: a busy machine does not let them end as fast as they are made.
void* short_lived(void* shared) {
  auto& s = *static_cast<Shared*>(shared);
  s.counter++;
  s.values[2]--;
  return nullptr;
}
void* spawner(void* shared) {
  auto& s = *static_cast<Shared*>(shared);
  s.ready++;
  for (;;) {
    if (s.values[2]++ < 100 && try_start_thread(short_lived, shared, 64 << 10)) continue;
    s.values[2]--;
    nap(200us);
  }
}

/// Makes processes whose end is announced by no SIGCHLD, which ptrace reports as if they were threads.
void* cloner(void* shared) {
  auto& s = *static_cast<Shared*>(shared);
  s.ready++;
  for (;;) {
    const long child = ::syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr);
    if (child == 0) ::_exit(7);
    int status = 0;
    if (::waitpid(static_cast<pid_t>(child), &status, __WALL) != child || WEXITSTATUS(status) != 7) s.values[1]++;
    s.values[0]++;
  }
}

TEST(LiveStop, ThreadsComeAndGoByTheThousand) {
  const TestProcess process(
      [](Shared& s) {
        for (int i = 0; i < 3; i++) start_thread(spawner, &s);
        start_thread(cloner, &s);
        start_thread(sleeping_thread, &s);
      },
      5);
  ASSERT_TRUE(process.is_ready());
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  int complete = 0;
  const auto end = std::chrono::steady_clock::now() + 30s;
  for (int i = 0; std::chrono::steady_clock::now() < end && (i < 200 || process.shared().counter < 3000); i++) {
    auto capture = (*target)->capture(kPatient);
    ASSERT_TRUE(capture.has_value()) << static_cast<int>(capture.error().code);
    EXPECT_EQ(capture->threads_not_stopped, 0u);
    EXPECT_GE(capture->threads.size(), 6u);
    const bool all = std::all_of(capture->threads.begin(), capture->threads.end(),
                                 [](const ThreadCapture& t) { return t.captured; });
    complete += all ? 1 : 0;
    EXPECT_TRUE(all);
  }
  EXPECT_GT(complete, 0);
  EXPECT_GT(process.shared().counter, 300);
  EXPECT_GT(process.shared().values[0], 10) << "processes made meanwhile";
  EXPECT_EQ(process.shared().values[1], 0) << "and their ends seen by their maker";
  EXPECT_TRUE(eventually([&] { return is_untraced(process.pid()); }, 2s));
  const long before = process.shared().counter;
  EXPECT_TRUE(eventually([&] { return process.shared().counter > before; }));
}

TEST(LiveStop, AVforkParentIsReportedWhileTheOthersRunOn) {
  const TestProcess process(
      [](Shared& s) {
        start_thread(sleeping_thread, &s);
        while (s.ready < 1) nap(1ms);
        s.values[0] = gettid_now();
        // The child shares the memory and lives until it is told to end; its parent cannot be stopped so long.
        if (::vfork() == 0) {
          s.ready++;
          while (s.go == 0) nap(1ms);
          ::_exit(0);
        }
        s.counter = 1;
      },
      2);
  ASSERT_TRUE(process.is_ready());
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  auto capture = (*target)->capture(within(1s));
  ASSERT_TRUE(capture.has_value());
  EXPECT_EQ(capture->threads_not_stopped, 1u);
  ASSERT_EQ(capture->threads.size(), 2u);
  const auto& parent = capture->threads[0];
  EXPECT_FALSE(parent.captured);
  EXPECT_EQ(parent.error.code, ErrorCode::thread_not_stopped);
  EXPECT_EQ(parent.kernel_state, 'D');
  EXPECT_EQ(parent.syscall, mixstack::test::kVforkCall);
  EXPECT_TRUE(capture->threads[1].captured);
  // Neither it nor anybody else is traced any more, and it is free to go on.
  EXPECT_TRUE(is_untraced(process.pid()));
  auto again = (*target)->capture(within(1s));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->threads_not_stopped, 1u);
  process.shared().go = 1;
  EXPECT_TRUE(eventually([&] { return process.shared().counter == 1; }));
  auto after = (*target)->capture(kPatient);
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(after->threads_not_stopped, 0u);
}

TEST(LiveStop, ATracerThatIsKilledLeavesTheProcessRunning) {
  const TestProcess process(
      [](Shared& s) {
        for (int i = 0; i < 20; i++) start_thread(sleeping_thread, &s);
        for (;;) s.counter++;
      },
      20);
  ASSERT_TRUE(process.is_ready());
  for (int round = 0; round < 5; round++) {
    const TestProcess tracer(
        [&](Shared& s) {
          auto target = open_live(process.id());
          for (;;) {
            if (target && (*target)->capture(kPatient)) s.ready++;
          }
        },
        3);
    ASSERT_TRUE(tracer.is_ready());
    nap(std::chrono::microseconds(137 * round));
    ::kill(tracer.pid(), SIGKILL);
    ::waitpid(tracer.pid(), nullptr, 0);
    EXPECT_TRUE(eventually([&] { return is_untraced(process.pid()); }, 5s));
    const long before = process.shared().counter;
    EXPECT_TRUE(eventually([&] { return process.shared().counter > before; }));
  }
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  auto capture = (*target)->capture(kPatient);
  ASSERT_TRUE(capture.has_value());
  EXPECT_EQ(capture->threads.size(), 21u);
}

constexpr const char* kExecAgain = "MIXSTACK_TEST_EXEC_AGAIN";

void* replacing_thread(void*) {
  ::execl("/proc/self/exe", "exec-again", nullptr);
  ::_exit(8);
}
void* idle_thread(void*) {
  for (;;) ::pause();
}

/// This test program started with that variable set is another program: one with many threads, which replaces itself
/// over and over from a thread that is not the main one.
__attribute__((constructor)) void be_the_program_that_execs_again() {
  if (::getenv(kExecAgain) == nullptr) return;
  for (int i = 0; i < 150; i++) start_thread(idle_thread, nullptr, 64 << 10);
  nap(5ms);
  start_thread(replacing_thread, nullptr);
  for (;;) ::pause();
}

TEST(LiveStop, ExecUnderOurHandsIsNamedAndHarmsNobody) {
  const TestProcess process([](Shared& s) {
    ::setenv(kExecAgain, "1", 1);
    s.ready++;
    replacing_thread(nullptr);
  });
  int changed = 0, taken = 0;
  const auto end = std::chrono::steady_clock::now() + 8s;
  while (std::chrono::steady_clock::now() < end && (changed < 20 || taken < 20)) {
    auto target = open_live(process.id());
    if (!target) continue;  // between two programs
    for (int i = 0; i < 100; i++) {
      auto capture = (*target)->capture(within(200ms));
      if (capture) {
        taken++;
        continue;
      }
      EXPECT_EQ(capture.error().code, ErrorCode::process_changed) << capture.error().os_error;
      changed++;
      break;
    }
  }
  EXPECT_GT(changed, 0);
  EXPECT_GT(taken, 0);
  // Empty while an exec goes on: the main thread is a zombie then.
  const std::string cmdline = "/proc/" + std::to_string(process.pid()) + "/cmdline";
  EXPECT_TRUE(eventually([&] { return slurp(cmdline) == std::string("exec-again\0", 11); }, 5s)) << slurp(cmdline);
  EXPECT_TRUE(eventually([&] { return is_untraced(process.pid()); }, 5s));
}

TEST(LiveStop, ForkedChildrenAreNeitherTracedNorDisturbed) {
  const TestProcess process([](Shared& s) {
    s.ready++;
    for (;;) {
      const pid_t child = ::fork();
      if (child == 0) ::_exit(7);
      int status = 0;
      if (::waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7) s.values[0]++;
      s.counter++;
    }
  });
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  const auto end = std::chrono::steady_clock::now() + 20s;
  for (int i = 0; (i < 300 || process.shared().counter < 50) && std::chrono::steady_clock::now() < end; i++) {
    auto capture = (*target)->capture(kPatient);
    ASSERT_TRUE(capture.has_value());
    EXPECT_EQ(capture->threads.size(), 1u);
  }
  EXPECT_GT(process.shared().counter, 0);
  EXPECT_EQ(process.shared().values[0], 0);
}

TEST(LiveStop, AProcessThatEndsMeanwhileIsNamed) {
  for (int round = 0; round < 30; round++) {
    TestProcess process(
        [](Shared& s) {
          for (int i = 0; i < 10; i++) start_thread(sleeping_thread, &s);
          while (s.go == 0) {
          }
          ::_exit(0);
        },
        10);
    ASSERT_TRUE(process.is_ready());
    auto target = open_live(process.id());
    ASSERT_TRUE(target.has_value());
    Error last;
    for (int i = 0; last.code == ErrorCode::none && i < 10'000; i++) {
      if (i == round % 5) process.shared().go = 1;
      auto capture = (*target)->capture(kPatient);
      if (!capture) last = capture.error();
    }
    EXPECT_EQ(last.code, ErrorCode::no_such_process) << last.os_error;
    int status = 0;
    EXPECT_EQ(::waitpid(process.pid(), &status, 0), process.pid());
    EXPECT_TRUE(WIFEXITED(status));
  }
}

TEST(LiveStop, AHostThatCollectsAllItsChildrenDoesNotDisturbUs) {
  const TestProcess process(
      [](Shared& s) {
        for (int i = 0; i < 10; i++) start_thread(sleeping_thread, &s);
      },
      10);
  ASSERT_TRUE(process.is_ready());
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  std::atomic<bool> done{false};
  std::atomic<long> seen{0};
  std::atomic<int> flags{0};
  std::thread host([&] {
    while (!done)
      if (::waitpid(-1, nullptr, flags | WNOHANG) > 0 && flags == 0) seen++;
  });
  for (int i = 0; i < 200; i++) {
    // A wait that asks for clones, too, collects our tracer.
    if (i == 100) flags = __WALL;
    auto capture = (*target)->capture(kPatient);
    EXPECT_TRUE(capture.has_value());
    if (!capture) break;
    EXPECT_EQ(capture->threads_not_stopped, 0u);
    EXPECT_EQ(capture->threads.size(), 11u);
  }
  done = true;
  host.join();
  EXPECT_EQ(seen, 0) << "stops of our tracees, and our tracer, are none of its business";
}

}  // namespace
}  // namespace mixstack::process
