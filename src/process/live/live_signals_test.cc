// Signals, job control and interrupted waits: what a stopped process must still get.
#include <gtest/gtest.h>
#include <sys/epoll.h>

#include <thread>

#include "process/live/live_target.h"
#include "process/live/test_process.h"

namespace mixstack::process {
namespace {

using namespace test;

CaptureRequest patient() {
  CaptureRequest r;
  r.stop_timeout = 20s;
  return r;
}
const CaptureRequest kPatient = patient();

void* sleeping_thread(void* shared) {
  static_cast<Shared*>(shared)->ready++;
  for (;;) ::pause();
}

std::atomic<long> g_signals;
void count_signal(int) { g_signals++; }

TEST(LiveSignals, NoSignalIsLost) {
  const TestProcess process(
      [](Shared& s) {
        struct sigaction action {};
        action.sa_handler = count_signal;
        ::sigaction(SIGRTMIN + 1, &action, nullptr);
        for (int i = 0; i < 40; i++) start_thread(sleeping_thread, &s);
        for (;;) s.counter = g_signals.load();
      },
      40);
  ASSERT_TRUE(process.is_ready());
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  std::atomic<bool> enough{false};
  std::atomic<long> queued{0};
  std::thread sender([&] {
    while (!enough) {
      if (::sigqueue(process.pid(), SIGRTMIN + 1, sigval{}) == 0) queued++;
      if (queued % 8 == 0) nap(20us);
    }
  });
  // Until some were caught on their way to a handler, between seize and interrupt, and had to be given back.
  int intercepted = 0;
  const auto end = std::chrono::steady_clock::now() + 30s;
  for (int i = 0; (i < 100 || queued < 5000 || intercepted < 5) && std::chrono::steady_clock::now() < end; i++) {
    auto capture = (*target)->capture(kPatient);
    EXPECT_TRUE(capture.has_value());
    if (!capture) break;
    for (const auto& t : capture->threads) intercepted += t.pending_signal == SIGRTMIN + 1 ? 1 : 0;
  }
  enough = true;
  sender.join();
  EXPECT_GE(intercepted, 5);
  EXPECT_TRUE(eventually([&] { return process.shared().counter == queued; }))
      << process.shared().counter << " of " << queued;
}

TEST(LiveSignals, NoSignalIsLostWhenTheTracerIsKilled) {
  const TestProcess process(
      [](Shared& s) {
        struct sigaction action {};
        action.sa_handler = count_signal;
        ::sigaction(SIGRTMIN + 1, &action, nullptr);
        for (int i = 0; i < 40; i++) start_thread(sleeping_thread, &s);
        for (;;) s.counter = g_signals.load();
      },
      40);
  ASSERT_TRUE(process.is_ready());
  std::atomic<bool> enough{false};
  std::atomic<long> queued{0};
  std::thread sender([&] {
    while (!enough) {
      if (::sigqueue(process.pid(), SIGRTMIN + 1, sigval{}) == 0) queued++;
      if (queued % 8 == 0) nap(20us);
    }
  });
  for (int i = 0; i < 60; i++) {
    const TestProcess tracer([&](Shared& s) {
      auto target = open_live(process.id());
      for (s.ready = 1; target;) (void)(*target)->capture(kPatient);
    });
    EXPECT_TRUE(tracer.is_ready());
    nap(std::chrono::microseconds(500 + 97 * i % 3000));
    ::kill(tracer.pid(), SIGKILL);
  }
  enough = true;
  sender.join();
  // The tracer is a process of its own, which dies of its parent's death.
  EXPECT_TRUE(eventually([&] { return is_untraced(process.pid()); }, 2s));
  EXPECT_TRUE(eventually([&] { return process.shared().counter == queued; }, 10s))
      << process.shared().counter << " of " << queued;
}

TEST(LiveSignals, AStoppedProcessStaysStoppedAndContinuesOnSigcont) {
  const TestProcess process([](Shared& s) {
    start_thread(sleeping_thread, &s);
    for (;;) s.counter++;
  });
  ASSERT_TRUE(process.is_ready());
  ::kill(process.pid(), SIGSTOP);
  int status = 0;
  ASSERT_EQ(::waitpid(process.pid(), &status, WUNTRACED), process.pid());
  ASSERT_TRUE(WIFSTOPPED(status));
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  for (int i = 0; i < 20; i++) {
    const long before = process.shared().counter;
    auto capture = (*target)->capture(kPatient);
    ASSERT_TRUE(capture.has_value());
    for (const auto& t : capture->threads) {
      EXPECT_TRUE(t.captured);
      EXPECT_EQ(t.kernel_state, 'T');
      EXPECT_EQ(t.pending_signal, 0);
      EXPECT_TRUE(eventually([&] { return state_of(process.pid(), static_cast<pid_t>(t.tid)) == 'T'; }, 5s));
    }
    EXPECT_EQ(process.shared().counter, before) << "it ran although it was stopped";
  }
  EXPECT_EQ(::waitpid(process.pid(), &status, WUNTRACED | WNOHANG), 0) << "its parent must not hear of a new stop";
  EXPECT_TRUE(is_untraced(process.pid()));
  ::kill(process.pid(), SIGCONT);
  const long before = process.shared().counter;
  EXPECT_TRUE(eventually([&] { return process.shared().counter > before + 1000; }));
  EXPECT_NE(state_of(process.pid()), 'T');
}

TEST(LiveSignals, SigstopAndSigcontDuringCapturesEndAsSent) {
  const TestProcess process([](Shared& s) {
    start_thread(sleeping_thread, &s);
    for (;;) s.counter++;
  });
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  std::atomic<bool> done{false};
  std::thread sender([&] {
    for (int i = 0; i < 300; i++) {
      ::kill(process.pid(), SIGSTOP);
      nap(200us);
      ::kill(process.pid(), SIGCONT);
      nap(200us);
    }
    ::kill(process.pid(), SIGSTOP);
    done = true;
  });
  while (!done) EXPECT_TRUE((*target)->capture(kPatient).has_value());
  sender.join();
  EXPECT_TRUE(eventually([&] { return state_of(process.pid()) == 'T'; })) << state_of(process.pid());
  ::kill(process.pid(), SIGCONT);
  const long before = process.shared().counter;
  EXPECT_TRUE(eventually([&] { return process.shared().counter > before + 1000; }));
}

TEST(LiveSignals, WaitsThatTheKernelNeverRestartsReturnEintr) {
  // Not a wish but a fact to know: see README.md. nanosleep and poll are restarted, epoll_wait is not.
  const TestProcess process([](Shared& s) {
    const int poller = ::epoll_create1(0);
    epoll_event event{};
    s.ready++;
    for (;;) {
      const int n = ::epoll_wait(poller, &event, 1, -1);
      if (n < 0 && errno == EINTR) s.counter++;
    }
  });
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  ASSERT_TRUE(eventually([&] { return state_of(process.pid()) == 'S'; }));
  ASSERT_TRUE((*target)->capture(kPatient).has_value());
  EXPECT_TRUE(eventually([&] { return process.shared().counter == 1; }));
}

}  // namespace
}  // namespace mixstack::process
