// What a capture takes over from the one before, and when it must not.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>

#include "target/live/live_target.h"
#include "target/live/test_process.h"
#include "target/live/thread_stats.h"
#include "target/memory_map.h"

namespace mixstack::target {
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

}  // namespace
}  // namespace mixstack::target
