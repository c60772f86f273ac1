// The state that a capture takes over from the one before, and when it must not.
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#include <algorithm>

#include "process/kernel/memory_map.h"
#include "process/live/live_target.h"
#include "process/live/test_process.h"
#include "process/live/thread_stats.h"

namespace mixstack::process {
namespace {

using namespace test;

CaptureRequest patient() {
  CaptureRequest r;
  r.stop_timeout = 20s;
  return r;
}

void* waiting_thread(void* shared) {
  static_cast<Shared*>(shared)->ready++;
  for (;;) ::pause();
}

/// Changes its mappings when it is told to; its threads stay what they are.
void change_mappings(Shared& s) {
  void* const page = ::mmap(nullptr, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  s.values[0] = reinterpret_cast<long>(page);
  s.ready++;
  while (s.go == 0) nap(1ms);
  ::mprotect(page, 4096, PROT_READ | PROT_WRITE);
  s.ready++;
  while (s.go == 1) nap(1ms);
  s.values[1] = reinterpret_cast<long>(::mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  s.ready++;
  while (s.go == 2) nap(1ms);
  ::munmap(page, 1 << 20);
  s.ready++;
}

TEST(LastCapture, ItsMappingsAreUsedOnlyWhileTheyAreTheSame) {
  const TestProcess process(change_mappings);
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  const auto region_at = [&](Address address) -> std::optional<Region> {
    const auto capture = (*target)->capture(patient());
    if (!capture || capture->regions == nullptr) return std::nullopt;
    const Region* region = find_region(*capture->regions, address);
    return region == nullptr ? std::nullopt : std::optional(*region);
  };
  const auto go_on = [&](int step) {
    process.shared().go = step;
    EXPECT_TRUE(eventually([&] { return process.shared().ready > step; }));
  };
  const auto reserved = static_cast<Address>(process.shared().values[0].load());
  for (int i = 0; i < 3; i++) {
    const auto region = region_at(reserved);
    ASSERT_TRUE(region.has_value());
    EXPECT_FALSE(region->readable);
  }
  go_on(1);
  EXPECT_TRUE(region_at(reserved).value_or(Region{}).readable);
  go_on(2);
  EXPECT_TRUE(region_at(static_cast<Address>(process.shared().values[1].load())).has_value());
  go_on(3);
  EXPECT_FALSE(region_at(reserved).has_value());
}

TEST(LastCapture, ItsBytesAreLeftAloneWhileSomebodyHoldsThem) {
  const TestProcess process([](Shared& s) { start_thread(waiting_thread, &s); }, 1);
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  auto first = (*target)->capture(patient());
  ASSERT_TRUE(first.has_value());
  const auto bytes_of = [](const Capture& c) { return c.threads.front().stack.bytes.data(); };
  const std::vector<std::byte> before(bytes_of(*first), bytes_of(*first) + 64);
  const auto second = (*target)->capture(patient());
  ASSERT_TRUE(second.has_value());
  EXPECT_NE(bytes_of(*first), bytes_of(*second));
  EXPECT_TRUE(std::equal(before.begin(), before.end(), bytes_of(*first)));
  const std::byte* const used = bytes_of(*second);
  first = fail(ErrorCode::not_found);
  const auto third = (*target)->capture(patient());
  ASSERT_TRUE(third.has_value());
  EXPECT_NE(bytes_of(*third), used);
}

TEST(LastCapture, NamesOfWhoeverIsIdleMayComeLater) {
  constexpr std::size_t kThreads = 5;
  const TestProcess process(
      [](Shared& s) {
        for (std::size_t i = 0; i < kThreads; i++) start_thread(waiting_thread, &s);
      },
      kThreads);
  ASSERT_TRUE(process.is_ready());
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  CaptureRequest request = patient();
  for (const bool names : {false, true, false}) {
    nap(200ms);  // in which it does nothing
    request.names = names;
    const auto capture = (*target)->capture(request);
    ASSERT_TRUE(capture.has_value());
    ASSERT_EQ(capture->threads.size(), kThreads + 1);
    const auto facts = (*target)->thread_facts(capture->threads);
    ASSERT_EQ(facts.size(), kThreads + 1);
    for (std::size_t i = 0; i < facts.size(); i++) {
      const ThreadCapture& t = capture->threads[i];
      const std::string task = "/proc/" + std::to_string(process.pid()) + "/task/" + std::to_string(t.tid);
      EXPECT_EQ((names ? t.comm : facts[i].comm) + "\n", slurp(task + "/comm"));
      EXPECT_TRUE((names ? facts[i].comm : t.comm).empty()) << "told once";
      EXPECT_EQ(t.kernel_state, 'S');
      EXPECT_TRUE(t.captured);
    }
  }
}

TEST(ThreadStats, OfThreadsThatStayComeAndGo) {
  const TestProcess process([](Shared& s) { start_thread(waiting_thread, &s); }, 1);
  const auto proc = ProcDir::open(process.id());
  ASSERT_TRUE(proc.has_value());
  ThreadStats stats(*proc);
  auto tids = *proc->tasks();
  ASSERT_EQ(tids.size(), 2u);
  for (int round = 0; round < 2; round++) {
    const auto all = stats.read(tids);
    ASSERT_EQ(all.size(), 2u);
    for (std::size_t i = 0; i < 2; i++) {
      ASSERT_TRUE(all[i].has_value());
      EXPECT_EQ(all[i]->comm, proc->thread_stat(tids[i])->comm);
    }
  }
  EXPECT_EQ(stats.name_files(), (std::vector<int>{-1, -1}));
  // For those that waited, the comm file stays open: its reader knows by it that the thread is there.
  stats.expect_waiting({tids[1]});
  const auto one = stats.read(tids);
  EXPECT_NE(one[0]->state, '?');
  EXPECT_EQ(one[1]->state, '?');
  EXPECT_EQ(stats.name_files()[0], -1);
  char name[32] = {};
  const ssize_t n = ::pread(stats.name_files()[1], name, sizeof name, 0);
  EXPECT_EQ(std::string(name, n > 0 ? static_cast<std::size_t>(n) : 0), proc->thread_stat(tids[1])->comm + "\n");
  std::swap(tids[0], tids[1]);
  tids.push_back(0x7ffffff0);
  const auto others = stats.read(tids);
  ASSERT_EQ(others.size(), 3u);
  EXPECT_TRUE(others[0].has_value());
  EXPECT_TRUE(others[1].has_value());
  EXPECT_FALSE(others[2].has_value());
  ::kill(process.pid(), SIGKILL);
  EXPECT_TRUE(eventually([&] { return !stats.read({tids[0]}).front() || !stats.read({tids[1]}).front(); }));
}

TEST(ThreadStats, OfManyAtOnce) {
  const TestProcess process([](Shared& s) { start_thread(waiting_thread, &s); }, 1);
  const auto proc = ProcDir::open(process.id());
  ASSERT_TRUE(proc.has_value());
  ThreadStats stats(*proc);
  const auto two = *proc->tasks();
  ASSERT_EQ(two.size(), 2u);
  std::vector<ThreadId> tids(200, two[0]);
  tids[150] = two[1];
  tids[199] = 0x7ffffff0;
  for (int round = 0; round < 2; round++) {
    const auto all = stats.read(tids);
    ASSERT_EQ(all.size(), tids.size());
    for (std::size_t i = 0; i + 1 < all.size(); i++) {
      ASSERT_TRUE(all[i].has_value()) << i;
      EXPECT_EQ(all[i]->comm, proc->thread_stat(tids[i])->comm) << i;
    }
    EXPECT_FALSE(all[199].has_value());
  }
}

/// Waits in one way each, then spins under another name, then waits again.
template <class Wait>
void wait_and_spin(Shared& s, int thread, Wait wait) {
  s.values[thread] = gettid_now();
  s.ready++;
  while (s.go == 0) wait();
  ::prctl(PR_SET_NAME, "spins");
  s.ready++;
  while (s.go == 1) s.counter++;
  ::prctl(PR_SET_NAME, "waits");
  s.ready++;
  for (;;) ::pause();
}
void* in_futex(void* shared) {
  int word = 0;
  const timespec some{0, 300'000'000};
  wait_and_spin(*static_cast<Shared*>(shared), 0,
                [&] { ::syscall(SYS_futex, &word, FUTEX_WAIT, 0, &some, nullptr, 0); });
  return nullptr;
}
void* in_nanosleep(void* shared) {
  wait_and_spin(*static_cast<Shared*>(shared), 1, [] { nap(300ms); });
  return nullptr;
}
void* in_poll(void* shared) {
  wait_and_spin(*static_cast<Shared*>(shared), 2, [] { ::poll(nullptr, 0, 300); });
  return nullptr;
}
void* in_epoll(void* shared) {
  const int epoll = ::epoll_create1(0);
  epoll_event event;
  wait_and_spin(*static_cast<Shared*>(shared), 3, [&] { ::epoll_wait(epoll, &event, 1, 300); });
  return nullptr;
}
void* in_read(void* shared) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) ::_exit(9);
  char byte;
  auto& s = *static_cast<Shared*>(shared);
  s.values[8] = ends[1];
  wait_and_spin(s, 4, [&] { (void)!::read(ends[0], &byte, 1); });
  return nullptr;
}
void many_ways_to_wait(Shared& s) {
  for (auto* body : {in_futex, in_nanosleep, in_poll, in_epoll, in_read}) start_thread(body, &s);
  while (s.go == 0) nap(1ms);
  (void)!::write(static_cast<int>(s.values[8]), "x", 1);
}

TEST(LastCapture, StatesAndNamesAreThoseOfTheStop) {
  const TestProcess process(many_ways_to_wait, 5);
  ASSERT_TRUE(process.is_ready());
  Shared& s = process.shared();
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  const auto kernel_says = [&](char state) {
    return eventually([&] {
      for (int i = 0; i < 5; i++)
        if (state_of(process.pid(), static_cast<pid_t>(s.values[i])) != state) return false;
      return true;
    });
  };
  // A machine that gives the threads no turn may stop one between two waits.
  const auto captured_as = [&](char state, std::string_view name) {
    for (int round = 0; round < 20; round++) {
      const auto capture = (*target)->capture(patient());
      std::size_t right = 0;
      if (!capture) return false;
      for (const ThreadCapture& t : capture->threads)
        for (int i = 0; i < 5; i++)
          if (t.tid == static_cast<ThreadId>(s.values[i]) && t.kernel_state == state && t.comm == name) right++;
      if (right == 5) return true;
    }
    return false;
  };
  const std::string first = slurp("/proc/" + std::to_string(process.pid()) + "/comm");
  const std::string_view inherited = std::string_view(first).substr(0, first.size() - 1);
  ASSERT_TRUE(kernel_says('S'));
  for (int again = 0; again < 3; again++) EXPECT_TRUE(captured_as('S', inherited)) << again;
  s.go = 1;
  ASSERT_TRUE(eventually([&] { return s.ready == 10; }));
  for (int again = 0; again < 3; again++) EXPECT_TRUE(captured_as('R', "spins")) << again;
  s.go = 2;
  ASSERT_TRUE(eventually([&] { return s.ready == 15; }));
  ASSERT_TRUE(kernel_says('S'));
  for (int again = 0; again < 3; again++) EXPECT_TRUE(captured_as('S', "waits")) << again;
  ::kill(process.pid(), SIGSTOP);
  ASSERT_TRUE(kernel_says('T'));
  for (int again = 0; again < 3; again++) EXPECT_TRUE(captured_as('T', "waits")) << again;
  ::kill(process.pid(), SIGCONT);
  ASSERT_TRUE(kernel_says('S'));
  for (int again = 0; again < 3; again++) EXPECT_TRUE(captured_as('S', "waits")) << again;
}

}  // namespace
}  // namespace mixstack::process
