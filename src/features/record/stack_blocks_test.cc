#include "features/record/stack_blocks.h"

#include <gtest/gtest.h>

#include <optional>

namespace mixstack::record {
namespace {

std::vector<std::byte> bytes_of(std::size_t size, int value) {
  return std::vector<std::byte>(size, static_cast<std::byte>(value));
}

bool is_all(std::span<const std::byte> bytes, int value) {
  for (const std::byte b : bytes)
    if (b != static_cast<std::byte>(value)) return false;
  return true;
}

TEST(StackBlocks, CopiesStayAsLongAsTheirCapture) {
  StackBlocks room;
  std::vector<Capture> captures(3);
  std::vector<std::vector<std::span<const std::byte>>> copies(captures.size());
  for (std::size_t i = 0; i < captures.size(); i++) {
    room.begin();
    for (int n = 0; n < 100; n++)
      copies[i].push_back(
          room.keep(captures[i], bytes_of(20'000 + static_cast<std::size_t>(n), n + static_cast<int>(i))));
    EXPECT_EQ(captures[i].storage.size(), 2u);  // of 1 MiB each
  }
  for (std::size_t i = 0; i < captures.size(); i++)
    for (std::size_t n = 0; n < 100; n++) {
      ASSERT_EQ(copies[i][n].size(), 20'000 + n);
      EXPECT_TRUE(is_all(copies[i][n], static_cast<int>(n + i)));
    }
}

TEST(StackBlocks, BlocksAreUsedAgain) {
  StackBlocks room;
  std::optional<Capture> capture(std::in_place);
  const std::byte* first = room.keep(*capture, bytes_of(1000, 1)).data();
  capture.reset();
  room.begin();
  Capture next;
  EXPECT_EQ(room.keep(next, bytes_of(1000, 2)).data(), first);
}

TEST(StackBlocks, NoneIsLentTwice) {
  StackBlocks room;
  Capture one, other;
  const auto first = room.keep(one, bytes_of(1000, 1));
  room.begin();
  const auto second = room.keep(other, bytes_of(1000, 2));
  EXPECT_TRUE(is_all(first, 1));
  EXPECT_TRUE(is_all(second, 2));
}

TEST(StackBlocks, OutlivesWhoLentIt) {
  Capture capture;
  std::span<const std::byte> copy;
  {
    StackBlocks room;
    copy = room.keep(capture, bytes_of(StackBlocks::kBlock + 1, 3));
    copy = room.keep(capture, bytes_of(10, 3));
  }
  EXPECT_TRUE(is_all(copy, 3));
  EXPECT_EQ(capture.storage.size(), 2u);
  EXPECT_TRUE(StackBlocks().keep(capture, {}).empty());
}

}  // namespace
}  // namespace mixstack::record
