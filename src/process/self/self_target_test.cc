#include "process/self/self_target.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/system/byte_cursor.h"

namespace mixstack::process {
namespace {

constexpr std::uint64_t kMark = 0x5e1f'7a46'37aa'0001;

ThreadId own_tid() { return static_cast<ThreadId>(syscall(SYS_gettid)); }

/// A thread with a mark on its stack that waits, spins, or waits with every signal blocked.
class MarkedThread {
 public:
  enum class Kind : std::uint8_t { waits, spins, blocks };
  explicit MarkedThread(Kind kind) : thread_([this, kind] { run(kind); }) {
    while (tid_ == 0) std::this_thread::yield();
  }
  ~MarkedThread() {
    stop_ = true;
    thread_.join();
  }
  MarkedThread(const MarkedThread&) = delete;
  MarkedThread& operator=(const MarkedThread&) = delete;
  [[nodiscard]] ThreadId tid() const { return tid_; }
  [[nodiscard]] std::uint64_t mark() const { return kMark + tid_; }
  [[nodiscard]] Address mark_address() const { return mark_address_; }
  [[nodiscard]] bool has_interrupted_calls() const { return interrupted_; }

 private:
  void run(Kind kind) {
    volatile std::uint64_t mark = kMark + own_tid();
    mark_address_ = reinterpret_cast<std::uintptr_t>(&mark);
    if (kind == Kind::blocks) {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, nullptr);
    }
    tid_ = own_tid();
    while (!stop_)
      if (kind != Kind::spins) usleep(1000);
    if (kind == Kind::blocks) {
      sigset_t none;
      sigemptyset(&none);
      pthread_sigmask(SIG_SETMASK, &none, nullptr);  // what is still pending comes now
    }
    if (mark == 0) std::abort();
  }

  std::atomic<ThreadId> tid_ = 0;
  std::atomic<Address> mark_address_ = 0;
  std::atomic<bool> stop_ = false, interrupted_ = false;
  std::thread thread_;
};

const ThreadCapture* find(const Capture& capture, ThreadId tid) {
  for (const auto& t : capture.threads)
    if (t.tid == tid) return &t;
  return nullptr;
}

void expect_captured(const Capture& capture, const MarkedThread& thread) {
  const ThreadCapture* t = find(capture, thread.tid());
  ASSERT_NE(t, nullptr);
  ASSERT_TRUE(t->captured) << static_cast<int>(t->error.code) << " errno " << t->error.os_error;
  EXPECT_TRUE(t->stack.range().contains(t->registers.sp()));
  EXPECT_EQ(base::load_at<std::uint64_t>(t->stack.bytes, thread.mark_address() - t->stack.base), thread.mark());
  EXPECT_FALSE(t->stack_truncated);
}

void expect_own(const Capture& capture, Address local) {
  const ThreadCapture* t = find(capture, own_tid());
  ASSERT_NE(t, nullptr);
  ASSERT_TRUE(t->captured);
  EXPECT_TRUE(t->stack.range().contains(t->registers.sp()));
  EXPECT_EQ(base::load_at<std::uint64_t>(t->stack.bytes, local - t->stack.base), kMark);
}

TEST(SelfTarget, TellsWhatWeAre) {
  auto target = open_self();
  ASSERT_TRUE(target);
  EXPECT_EQ((*target)->info().pid, static_cast<std::uint32_t>(getpid()));
  EXPECT_NE((*target)->info().entry_point, 0u);
  const std::uint64_t word = kMark;
  EXPECT_EQ((*target)->memory().read<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&word)).value(), kMark);
  EXPECT_FALSE((*target)->memory().read<std::uint64_t>(16));
  auto regions = (*target)->regions();
  ASSERT_TRUE(regions);
  EXPECT_TRUE(std::any_of(regions->begin(), regions->end(),
                          [&](const Region& r) { return r.range.contains(reinterpret_cast<std::uintptr_t>(&word)); }));
}

TEST(SelfTarget, CapturesTheCallingThreadAloneUnlessAsked) {
  const MarkedThread other(MarkedThread::Kind::waits);
  volatile std::uint64_t mark = kMark;
  auto target = open_self();
  ASSERT_TRUE(target);
  const auto capture = (*target)->capture({});
  ASSERT_TRUE(capture);
  expect_own(*capture, reinterpret_cast<std::uintptr_t>(&mark));
  const ThreadCapture* t = find(*capture, other.tid());
  ASSERT_NE(t, nullptr);
  EXPECT_FALSE(t->captured);
  EXPECT_EQ(t->error.code, ErrorCode::unsupported);
}

std::atomic<int> g_former_calls = 0;
void former_handler(int) { g_former_calls++; }

TEST(SelfTarget, CapturesOthersBySignal) {
  const int signal = SIGRTMIN + 5;
  volatile std::uint64_t mark = kMark;
  auto target = open_self({.others = OwnThreads::by_signal, .signal = signal});
  ASSERT_TRUE(target);
  struct sigaction action {
  }, after{};
  action.sa_handler = former_handler;
  for (const bool has_handler : {false, true}) {
    const MarkedThread waits(MarkedThread::Kind::waits), spins(MarkedThread::Kind::spins),
        blocks(MarkedThread::Kind::blocks);
    if (has_handler) sigaction(signal, &action, nullptr);
    CaptureRequest request;
    request.stop_timeout = std::chrono::milliseconds(300);
    const auto capture = (*target)->capture(request);
    ASSERT_TRUE(capture);
    expect_own(*capture, reinterpret_cast<std::uintptr_t>(&mark));
    expect_captured(*capture, waits);
    expect_captured(*capture, spins);
    const ThreadCapture* blocked = find(*capture, blocks.tid());
    ASSERT_NE(blocked, nullptr);
    EXPECT_FALSE(blocked->captured);
    EXPECT_EQ(blocked->error.code, ErrorCode::thread_not_stopped);
    EXPECT_EQ(capture->threads_not_stopped, 1u);
    sigaction(signal, nullptr, &after);
    EXPECT_EQ(after.sa_handler, has_handler ? former_handler : SIG_DFL);
    // With the default action a signal that is still pending would end us when `blocks` unblocks it.
  }
  EXPECT_EQ(g_former_calls, 0);
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  EXPECT_FALSE(open_self({.others = OwnThreads::by_signal, .signal = 0}));
}

std::atomic<int> g_child_signals = 0;
void count_child(int) { g_child_signals++; }

TEST(SelfTarget, CapturesOthersByAHelper) {
  volatile std::uint64_t mark = kMark;
  struct sigaction action {
  }, before{};
  action.sa_handler = count_child;
  sigaction(SIGCHLD, &action, &before);
  auto target = open_self(
      {.others = OwnThreads::by_helper, .helper_timeout = std::chrono::seconds(60)});  // emulated CPUs are slow
  ASSERT_TRUE(target);
  const MarkedThread waits(MarkedThread::Kind::waits), spins(MarkedThread::Kind::spins),
      blocks(MarkedThread::Kind::blocks);
  std::atomic<bool> stop = false;
  // Somebody who waits for any child must never see ours; and the allocator is busy meanwhile.
  int found = 0;
  std::thread reaper([&] {
    while (!stop) {
      found += waitpid(-1, nullptr, WNOHANG) > 0 ? 1 : 0;
      std::free(std::malloc(100));
    }
  });
  CaptureRequest patient;
  patient.stop_timeout = std::chrono::seconds(5);
  for (int i = 0; i < 10; i++) {
    const auto capture = (*target)->capture(patient);
    EXPECT_TRUE(capture) << static_cast<int>(capture.error().code) << " errno " << capture.error().os_error;
    if (!capture) break;  // the reaper is to be joined
    EXPECT_EQ(capture->consistency, Consistency::all_stopped_together);
    expect_own(*capture, reinterpret_cast<std::uintptr_t>(&mark));
    for (const auto* t : {&waits, &spins, &blocks}) expect_captured(*capture, *t);
  }
  stop = true;
  reaper.join();
  EXPECT_EQ(found, 0);
  EXPECT_EQ(g_child_signals, 0);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG | __WALL), -1);
  EXPECT_EQ(errno, ECHILD);
  sigaction(SIGCHLD, &before, nullptr);
}

}  // namespace
}  // namespace mixstack::process
