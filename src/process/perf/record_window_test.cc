#include "process/perf/record_window.h"

#include <gtest/gtest.h>

#include <cstring>

namespace mixstack::perf {
namespace {

/// A ring of 64 bytes with a record of `size` at `at`, whose bytes count up.
std::vector<std::byte> ring_with(std::uint64_t at, std::uint16_t size) {
  std::vector<std::byte> ring(64);
  for (std::uint16_t i = 0; i < size; i++) ring[(at + i) % ring.size()] = static_cast<std::byte>(i);
  std::memcpy(ring.data() + (at + 6) % ring.size(), &size, sizeof size);
  return ring;
}

TEST(RecordWindow, PutsTornRecordsTogether) {
  const auto ring = ring_with(48, 32);
  RecordWindow window(ring);
  window.drop_first(48);
  ASSERT_TRUE(window.extend(80));
  const auto record = window.first();
  ASSERT_TRUE(record.has_value());
  ASSERT_EQ(record->size(), 32u);
  for (std::size_t i = 8; i < 32; i++) EXPECT_EQ((*record)[i], static_cast<std::byte>(i));
  window.drop_first(32);
  EXPECT_TRUE(window.is_empty());
  EXPECT_EQ(window.tail(), 80u);
}

TEST(RecordWindow, RefusesWhatCannotBe) {
  const auto ring = ring_with(0, 32);
  RecordWindow window(ring);
  EXPECT_FALSE(window.extend(65)) << "more than a ring holds";
  EXPECT_TRUE(window.is_empty());
  ASSERT_TRUE(window.extend(24));
  EXPECT_FALSE(window.first().has_value()) << "longer than what is there";
  window.drop_all();
  EXPECT_FALSE(window.extend(16)) << "less than before";
  const auto none = ring_with(0, 0);
  RecordWindow empty(none);
  ASSERT_TRUE(empty.extend(64));
  EXPECT_FALSE(empty.first().has_value()) << "would never advance";
}

}  // namespace
}  // namespace mixstack::perf
