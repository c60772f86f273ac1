#include "agent/in_process/sample_ring.h"

#include <gtest/gtest.h>

#include <thread>

namespace mixstack::agent {
namespace {

TEST(SampleRing, KeepsTheOrderAndCountsWhatItLost) {
  SampleRing ring(4);
  ASSERT_TRUE(ring.is_usable());
  for (std::uint32_t round = 0; round < 10; round++) {
    EXPECT_EQ(ring.next(), nullptr);
    for (std::uint32_t i = 0; i < 4; i++) {
      Sample* s = ring.reserve();
      ASSERT_NE(s, nullptr);
      s->tid = round * 4 + i;
      ring.commit(s);
    }
    EXPECT_EQ(ring.reserve(), nullptr);
    for (std::uint32_t i = 0; i < 4; i++) {
      ASSERT_NE(ring.next(), nullptr);
      EXPECT_EQ(ring.next()->tid, round * 4 + i);
      ring.release();
    }
  }
  EXPECT_EQ(ring.lost(), 10u);
}

TEST(SampleRing, AWriterThatIsNotDoneIsWaitedForAndHoldsNoOtherUp) {
  SampleRing ring(4);
  Sample* interrupted = ring.reserve();
  Sample* nested = ring.reserve();
  nested->tid = 2;
  ring.commit(nested);
  EXPECT_EQ(ring.next(), nullptr);
  interrupted->tid = 1;
  ring.commit(interrupted);
  ASSERT_NE(ring.next(), nullptr);
  EXPECT_EQ(ring.next()->tid, 1u);
}

TEST(SampleRing, ManyWriters) {
  SampleRing ring(256);
  constexpr std::uint32_t kEach = 50'000;
  std::atomic<int> running{3};
  const auto write = [&](std::uint32_t who) {
    for (std::uint32_t i = 0; i < kEach; i++) {
      Sample* s = ring.reserve();
      if (s == nullptr) continue;
      s->tid = who, s->weight = i, s->count = static_cast<std::uint16_t>(i);
      ring.commit(s);
    }
    running--;
  };
  std::thread a(write, 0), b(write, 1), c(write, 2);
  std::uint64_t seen = 0;
  std::array<std::int64_t, 3> last{-1, -1, -1};
  while (running > 0 || ring.next() != nullptr) {
    const Sample* s = ring.next();
    if (s == nullptr) continue;
    ASSERT_LT(s->tid, 3u);
    EXPECT_GT(std::int64_t{s->weight}, last[s->tid]) << "of one writer in its order";
    EXPECT_EQ(s->count, static_cast<std::uint16_t>(s->weight));
    last[s->tid] = std::int64_t{s->weight};
    seen++;
    ring.release();
  }
  a.join(), b.join(), c.join();
  EXPECT_EQ(seen + ring.lost(), 3u * kEach);
}

}  // namespace
}  // namespace mixstack::agent
