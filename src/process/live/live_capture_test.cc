// The contents of a capture, compared with what the kernel and gdb say of the same process.
#include <gtest/gtest.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "base/memory/overlay_memory.h"
#include "process/kernel/memory_map.h"
#include "process/live/live_target.h"
#include "process/live/test_process.h"
#include "support/host_cpu.h"

namespace mixstack::process {
namespace {

using namespace test;

CaptureRequest patient() {
  CaptureRequest r;
  r.stop_timeout = 20s;  // the machine may be busy; nothing here is about time
  return r;
}

void* sleeping_thread(void* shared) {
  static_cast<Shared*>(shared)->ready++;
  for (;;) ::pause();
}

void* spinning_thread(void* shared) {
  static_cast<Shared*>(shared)->ready++;
  for (;;) static_cast<Shared*>(shared)->counter++;
}

void run_threads(Shared& s, int sleeping, int spinning) {
  for (int i = 0; i < sleeping; i++) start_thread(sleeping_thread, &s);
  for (int i = 0; i < spinning; i++) start_thread(spinning_thread, &s);
  s.ready++;
}

std::vector<std::byte> read_mem(pid_t pid, Address address, std::size_t size) {
  std::vector<std::byte> bytes(size);
  const base::ScopedFd fd(::open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDONLY));
  const ssize_t n = ::pread(fd.get(), bytes.data(), size, static_cast<off_t>(address));
  bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return bytes;
}

class ThreadCounts : public testing::TestWithParam<int> {};

TEST_P(ThreadCounts, CapturesEveryThreadAtOneInstantAndLeavesNoneTraced) {
  const int count = GetParam();
  const int spinning = count > 1 ? 1 : 0;
  const TestProcess process([&](Shared& s) { run_threads(s, count - 1 - spinning, spinning); }, count);
  ASSERT_TRUE(process.is_ready());
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  for (int round = 0; round < 5; round++) {
    auto capture = (*target)->capture(patient());
    ASSERT_TRUE(capture.has_value()) << static_cast<int>(capture.error().code);
    EXPECT_EQ(capture->threads.size(), static_cast<std::size_t>(count));
    EXPECT_EQ(capture->threads_not_stopped, 0u);
    EXPECT_EQ(capture->consistency, Consistency::all_stopped_together);
    EXPECT_GT(capture->pause.count(), 0);
    std::set<ThreadId> tids;
    for (const auto& t : capture->threads) {
      tids.insert(t.tid);
      EXPECT_EQ(t.ns_tid, t.tid);
      EXPECT_TRUE(t.captured) << t.tid;
      EXPECT_FALSE(t.stack_truncated);
      EXPECT_TRUE(t.stack.range().contains(t.registers.sp()));
      EXPECT_TRUE(t.stack.range().contains(t.registers.sp() - 128));
    }
    EXPECT_EQ(tids.size(), static_cast<std::size_t>(count));
    EXPECT_TRUE(is_untraced(process.pid()));
  }
  if (spinning > 0) {
    const long before = process.shared().counter;
    EXPECT_TRUE(eventually([&] { return process.shared().counter > before; })) << "the process must run on";
  }
}
INSTANTIATE_TEST_SUITE_P(Live, ThreadCounts, testing::Values(1, 2, 10, 500));

TEST(LiveCapture, ThreadsAreHeldInGroups) {
  const TestProcess process([&](Shared& s) { run_threads(s, 38, 1); }, 40);
  ASSERT_TRUE(process.is_ready());
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  CaptureRequest request = patient();
  request.together = 4;
  auto capture = (*target)->capture(request);
  ASSERT_TRUE(capture.has_value()) << static_cast<int>(capture.error().code);
  EXPECT_EQ(capture->threads.size(), 40u);
  EXPECT_EQ(capture->threads_not_stopped, 0u);
  EXPECT_EQ(capture->consistency, Consistency::not_stopped);
  EXPECT_TRUE(capture->late.empty());
  for (const auto& t : capture->threads) {
    EXPECT_TRUE(t.captured) << t.tid;
    EXPECT_FALSE(t.stack_truncated) << t.tid;
    EXPECT_TRUE(t.stack.range().contains(t.registers.sp())) << t.tid;
  }
  // No thread was held for longer than its group.
  EXPECT_GT(capture->pause.count(), 0);
  EXPECT_GT(capture->held.count(), 0);
  EXPECT_LE(capture->held, capture->pause * 40);
  EXPECT_TRUE(is_untraced(process.pid()));
  const long before = process.shared().counter;
  EXPECT_TRUE(eventually([&] { return process.shared().counter > before; })) << "the process must run on";
}

/// Sleeps and computes in turn, so that it does one when its state is read and often the other when it is stopped.
void* restless_thread(void* shared) {
  static_cast<Shared*>(shared)->ready++;
  for (;;) {
    nap(50us);
    for (int i = 0; i < 20'000; i++) static_cast<Shared*>(shared)->counter++;
  }
}

TEST(LiveCapture, WhoComputesAtTheStopIsNotCalledSleeping) {
  const TestProcess process(
      [](Shared& s) {
        for (int i = 0; i < 4; i++) start_thread(restless_thread, &s);
      },
      4);
  ASSERT_TRUE(process.is_ready());
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  int computing = 0;
  for (int round = 0; round < 100; round++) {
    auto capture = (*target)->capture(patient());
    ASSERT_TRUE(capture.has_value());
    for (const auto& t : capture->threads) {
      if (!t.captured || t.syscall >= 0) continue;
      computing++;
      EXPECT_NE(t.kernel_state, 'S') << t.tid << " in round " << round;
    }
  }
  EXPECT_GT(computing, 0);
}

TEST(LiveCapture, CapturesOnlyTheThreadsAskedFor) {
  const TestProcess process([](Shared& s) { run_threads(s, 4, 0); }, 5);
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  const auto all = (*target)->threads();
  ASSERT_TRUE(all.has_value());
  ASSERT_EQ(all->size(), 5u);
  CaptureRequest request = patient();
  request.threads = {(*all)[3], 0x7ffffff0};
  auto capture = (*target)->capture(request);
  ASSERT_TRUE(capture.has_value());
  ASSERT_EQ(capture->threads.size(), 1u);
  EXPECT_EQ(capture->threads[0].tid, (*all)[3]);
  EXPECT_TRUE(capture->threads[0].captured);
}

TEST(LiveCapture, NeverTouchesAThreadOfAnotherProcess) {
  const TestProcess process([](Shared& s) { run_threads(s, 1, 0); }, 2);
  const TestProcess stranger([](Shared& s) { run_threads(s, 1, 0); }, 2);
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  CaptureRequest request = patient();
  request.threads = {stranger.id()};
  auto capture = (*target)->capture(request);
  ASSERT_FALSE(capture.has_value());
  EXPECT_EQ(capture.error().code, ErrorCode::no_such_thread);
  EXPECT_EQ(capture.error().value, stranger.id());
}

TEST(LiveCapture, SlicesEqualTheMemoryOfTheStoppedProcess) {
  const TestProcess process([](Shared& s) { run_threads(s, 3, 1); }, 5);
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  ::kill(process.pid(), SIGSTOP);
  int status = 0;
  ASSERT_EQ(::waitpid(process.pid(), &status, WUNTRACED), process.pid()) << "reported when the last thread stands";
  auto capture = (*target)->capture(patient());
  ASSERT_TRUE(capture.has_value());
  ASSERT_EQ(capture->threads.size(), 5u);
  auto regions = (*target)->regions();
  ASSERT_TRUE(regions.has_value());
  for (const auto& t : capture->threads) {
    ASSERT_TRUE(t.captured);
    EXPECT_EQ(t.kernel_state, 'T');
    const auto truth = read_mem(process.pid(), t.stack.base, t.stack.bytes.size());
    ASSERT_EQ(truth.size(), t.stack.bytes.size());
    EXPECT_TRUE(std::equal(truth.begin(), truth.end(), t.stack.bytes.begin())) << t.tid;
  }
  EXPECT_TRUE(eventually([&] { return state_of(process.pid()) == 'T'; }));
}

TEST(LiveCapture, NamesStateAndSystemCallAreThoseBeforeTheStop) {
  const TestProcess process(
      [](Shared& s) {
        ::prctl(PR_SET_NAME, "a) S (b\nc");
        start_thread(spinning_thread, &s);
        s.ready++;
      },
      2);
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  ASSERT_TRUE(eventually([&] { return state_of(process.pid()) == 'S'; }));
  auto capture = (*target)->capture(patient());
  ASSERT_TRUE(capture.has_value());
  ASSERT_EQ(capture->threads.size(), 2u);
  EXPECT_EQ(capture->threads[0].comm, "a) S (b\nc");
  EXPECT_EQ(capture->threads[0].kernel_state, 'S');
  EXPECT_EQ(capture->threads[0].syscall, mixstack::test::kPauseCall);
  EXPECT_EQ(capture->threads[1].kernel_state, 'R');
  EXPECT_EQ(capture->threads[1].syscall, -1);
}

/// Uses up a stack of the given size, then waits.
__attribute__((noinline)) void dig(Shared& s, std::size_t bytes) {
  volatile char block[4096];
  block[0] = static_cast<char>(bytes);
  if (bytes > sizeof block) {
    dig(s, bytes - sizeof block);
  } else {
    s.ready++;
    while (s.go == 0) ::pause();
  }
  block[1] = block[0];
}

void* deep_thread(void* shared) {
  dig(*static_cast<Shared*>(shared), 20 << 20);
  return nullptr;
}

TEST(LiveCapture, CompletesDeepStacksWithinTheBudget) {
  const TestProcess process(
      [](Shared& s) {
        start_thread(deep_thread, &s, 32 << 20);
        start_thread(sleeping_thread, &s);
      },
      2);
  ASSERT_TRUE(process.is_ready());
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  auto whole = (*target)->capture(patient());
  ASSERT_TRUE(whole.has_value());
  const auto is_deep = [](const ThreadCapture& t) { return t.stack.bytes.size() > 20u << 20; };
  ASSERT_EQ(std::count_if(whole->threads.begin(), whole->threads.end(), is_deep), 1);
  for (const auto& t : whole->threads) EXPECT_FALSE(t.stack_truncated);
  const auto deep = std::find_if(whole->threads.begin(), whole->threads.end(), is_deep);

  CaptureRequest frugal = patient();
  frugal.stack_byte_budget = 1 << 20;
  auto cut = (*target)->capture(frugal);
  ASSERT_TRUE(cut.has_value());
  for (const auto& t : cut->threads) {
    EXPECT_EQ(t.stack_truncated, t.tid == deep->tid);
    if (t.tid != deep->tid) continue;
    EXPECT_EQ(t.stack.bytes.size(), (64u << 10) + (1u << 20));
    EXPECT_TRUE(std::equal(t.stack.bytes.begin(), t.stack.bytes.end(), deep->stack.bytes.begin()));
  }
}

void on_alternate_stack(int, siginfo_t*, void* context) {
  (void)context;
  for (;;) ::pause();
}

void* thread_with_alternate_stack(void* argument) {
  auto& s = *static_cast<Shared*>(argument);
  stack_t alternate{};
  alternate.ss_size = 128 << 10;
  alternate.ss_sp = ::mmap(nullptr, alternate.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ::sigaltstack(&alternate, nullptr);
  volatile long marker = 0x123456789abcdef;
  s.values[0] = reinterpret_cast<long>(&marker);
  s.values[1] = gettid_now();
  s.ready++;
  ::raise(SIGUSR1);
  return nullptr;
}

TEST(LiveCapture, HoldsTheStackBehindAnAlternateSignalStackToo) {
  const TestProcess process([](Shared& s) {
    struct sigaction action {};
    action.sa_sigaction = on_alternate_stack;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigaction(SIGUSR1, &action, nullptr);
    start_thread(thread_with_alternate_stack, &s);
  });
  ASSERT_TRUE(process.is_ready());
  const auto tid = static_cast<pid_t>(process.shared().values[1]);
  ASSERT_TRUE(eventually([&] { return state_of(process.pid(), tid) == 'S'; }));
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  auto capture = (*target)->capture(patient());
  ASSERT_TRUE(capture.has_value());
  const memory::OverlayMemory captured(*capture, nullptr);
  const auto marker = captured.read<long>(static_cast<Address>(process.shared().values[0].load()));
  ASSERT_TRUE(marker.has_value());
  EXPECT_EQ(*marker, 0x123456789abcdef);
}

/// A linked list in the child whose links the child keeps moving.
struct Node {
  std::atomic<Node*> next;
  std::atomic<long> first, second;
};

class ListSource final : public RootSource {
 public:
  explicit ListSource(Address head) : head_(head) {}
  void collect(const MemoryReader& memory, std::vector<AddressRange>& out) override {
    calls++;
    auto at = memory.read_pointer(head_);
    for (int i = 0; i < 1000 && at && *at != 0; i++) {
      out.push_back({*at, *at + sizeof(Node)});
      at = memory.read_pointer(*at);
    }
  }
  int calls = 0;

 private:
  Address head_;
};

TEST(LiveCapture, ReadsRootsInTheStop) {
  const TestProcess process([](Shared& s) {
    static Node nodes[100];
    static std::atomic<Node*> head;
    for (int i = 0; i < 100; i++) nodes[i].next = i + 1 < 100 ? &nodes[i + 1] : nullptr;
    s.values[0] = reinterpret_cast<long>(&head);
    head = &nodes[0];
    s.ready++;
    for (long round = 1;; round++) {
      // Two words that only a torn read sees differ by more than one, and a list whose head moves.
      for (auto& n : nodes) {
        n.first = round;
        n.second = round;
      }
      head = &nodes[round % 50];
    }
  });
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  for (int round = 0; round < 50; round++) {
    ListSource source(static_cast<Address>(process.shared().values[0].load()));
    CaptureRequest request = patient();
    request.roots = &source;
    auto capture = (*target)->capture(request);
    ASSERT_TRUE(capture.has_value());
    EXPECT_GE(source.calls, round == 0 ? 2 : 1) << "later ones expect what the one before found";
    // Stacks behind pages never touched are among them, too.
    std::erase_if(capture->roots, [](const MemorySlice& r) { return r.bytes.size() != sizeof(Node); });
    ASSERT_GE(capture->roots.size(), 50u);
    long newest = 0, oldest = 0;
    for (const auto& r : capture->roots) {
      long words[3];
      std::memcpy(words, r.bytes.data(), sizeof words);
      EXPECT_TRUE(words[1] - words[2] == 0 || words[1] - words[2] == 1);
      newest = std::max(newest, words[1]);
      oldest = oldest == 0 ? words[1] : std::min(oldest, words[1]);
    }
    EXPECT_LE(newest - oldest, 1) << "all from one instant";
  }
}

/// For ever, with a pattern in the seventh vector register.
[[noreturn]] void spin_with_pattern(Shared& shared) {
  alignas(16) static constexpr std::array<std::uint64_t, 2> kPattern{0x1122334455667788, 0x99aabbccddeeff00};
  int one = 1;
#if defined(__aarch64__)
  asm volatile("ldr q7, %1\n str %w2, %0\n 1: b 1b" : "=m"(shared.ready) : "m"(kPattern), "r"(one) : "v7");
#else
  asm volatile("movdqa %1, %%xmm7\n movl %2, %0\n 1: jmp 1b" : "=m"(shared.ready) : "m"(kPattern), "r"(one) : "xmm7");
#endif
  __builtin_unreachable();
}

TEST(LiveCapture, HasVectorRegistersWhereTheyAreAskedFor) {
  const TestProcess process([](Shared& s) { spin_with_pattern(s); });
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  CaptureRequest request = patient();
  EXPECT_EQ((*target)->capture(request)->threads[0].vectors, nullptr);
  request.vectors = true;
  auto capture = (*target)->capture(request);
  ASSERT_TRUE(capture.has_value());
  const auto vectors = capture->threads[0].vectors;
  ASSERT_NE(vectors, nullptr);
  std::array<std::uint64_t, 2> found{};
  std::memcpy(found.data(), vectors->values[7].data(), sizeof found);
  EXPECT_EQ(found[0], 0x1122334455667788u);
  EXPECT_EQ(found[1], 0x99aabbccddeeff00u);
}

}  // namespace
}  // namespace mixstack::process
