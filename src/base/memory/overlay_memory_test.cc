#include "base/memory/overlay_memory.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/memory/buffer_memory.h"

namespace mixstack::memory {
namespace {

std::vector<std::byte> filled(std::size_t size, int value) { return {size, static_cast<std::byte>(value)}; }

TEST(OverlayMemory, CapturedBytesComeFirstAndJoinWhatLiesBehind) {
  BufferMemory behind;
  behind.add(100, filled(100, 1));
  const auto middle = filled(20, 2);
  const MemorySlice slices[] = {{140, middle}};
  const OverlayMemory overlay(slices, &behind);
  std::vector<std::byte> out(100);
  EXPECT_EQ(overlay.read_some(100, out).value(), 100u);
  for (std::size_t i = 0; i < 100; i++) EXPECT_EQ(std::to_integer<int>(out[i]), i >= 40 && i < 60 ? 2 : 1) << i;
  EXPECT_TRUE(overlay.holds(140));
  EXPECT_TRUE(overlay.holds(159));
  EXPECT_FALSE(overlay.holds(160));
  EXPECT_FALSE(overlay.holds(139));
  EXPECT_EQ(overlay.read_some(190, out).value(), 10u);
  EXPECT_EQ(overlay.read_some(200, out).error().code, ErrorCode::unreadable_memory);
}

TEST(OverlayMemory, WithNothingBehindOnlyTheCaptureIsReadable) {
  Capture capture;
  const auto stack = filled(64, 5), root = filled(8, 6);
  capture.threads.resize(2);
  capture.threads[0].stack = {1000, stack};
  capture.roots.push_back({2000, root});
  const OverlayMemory overlay(capture, nullptr);
  EXPECT_EQ(overlay.read<std::uint8_t>(1063).value(), 5);
  EXPECT_FALSE(overlay.read<std::uint8_t>(1064).has_value());
  EXPECT_EQ(overlay.read<std::uint8_t>(2007).value(), 6);
}

TEST(OverlayMemory, TheEarlierSliceCounts) {
  // Random overlapping slices against a byte map filled in reverse order.
  std::mt19937 random(7);
  for (int round = 0; round < 300; round++) {
    std::vector<std::vector<std::byte>> bytes;
    std::vector<MemorySlice> slices;
    for (int i = 0; i < 12; i++) bytes.push_back(filled(random() % 40, i + 1));
    for (const auto& b : bytes) slices.push_back({1000 + random() % 150, b});
    std::map<Address, std::byte> truth;
    for (auto s = slices.rbegin(); s != slices.rend(); ++s)
      for (std::size_t i = 0; i < s->bytes.size(); i++) truth[s->base + i] = s->bytes[i];
    const OverlayMemory overlay(slices, nullptr);
    for (Address a = 990; a < 1200; a++) {
      const auto got = overlay.read<std::byte>(a);
      ASSERT_EQ(got.has_value(), truth.contains(a)) << a;
      if (!got) continue;
      ASSERT_EQ(*got, truth[a]) << a;
    }
  }
}

TEST(OverlayMemory, ASliceAtTheTopOfTheAddressSpace) {
  const auto bytes = filled(64, 1);
  const MemorySlice slices[] = {{~Address{0} - 15, bytes}};
  const OverlayMemory overlay(slices, nullptr);
  EXPECT_TRUE(overlay.read<std::uint8_t>(~Address{0} - 1).has_value());
  EXPECT_FALSE(overlay.read<std::uint8_t>(0).has_value());
}

}  // namespace
}  // namespace mixstack::memory
