#include "agent/in_process/code_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace mixstack::agent {
namespace {

constexpr Address kHeap = 0x7f1234000000;

std::set<std::uint32_t> numbers_at(const CodeIndex& index, Address address) {
  std::set<std::uint32_t> numbers;
  (void)index.visit(address, [&](std::uint32_t number) {
    numbers.insert(number);
    return false;
  });
  return numbers;
}

TEST(CodeIndex, NamesWhoCoversTheAddressAndFewOthers) {
  CodeIndex index({.most_regions = 16, .most_more = 64});
  ASSERT_TRUE(index.is_usable());
  const AddressRange body{kHeap + 0x20, kHeap + 0x7f}, next{kHeap + 0x80, kHeap + 0xc00};
  for (const auto& [range, number] : {std::pair(body, 1u), std::pair(next, 0xfffffu)}) {
    ASSERT_TRUE(index.make_room(range));
    index.add(range, number);
  }
  EXPECT_TRUE(numbers_at(index, kHeap + 0x1f).empty());
  EXPECT_EQ(numbers_at(index, kHeap + 0x20), std::set{1u});
  EXPECT_EQ(numbers_at(index, kHeap + 0x7f), std::set{1u}) << "the same unit of 32 bytes";
  EXPECT_EQ(numbers_at(index, kHeap + 0x80), std::set{0xfffffu});
  EXPECT_EQ(numbers_at(index, kHeap + 0xbff), std::set{0xfffffu});
  EXPECT_TRUE(numbers_at(index, kHeap + 0xc00).empty());
  EXPECT_TRUE(numbers_at(index, kHeap + 0x400000).empty());
  EXPECT_TRUE(numbers_at(index, 0).empty());
}

TEST(CodeIndex, HasRoomOrSaysThatItHasNone) {
  CodeIndex index({.most_regions = 4, .most_more = 1});
  for (std::uint32_t i = 1; i <= 14; i++) {
    ASSERT_TRUE(index.make_room({kHeap, kHeap + 1})) << i;
    index.add({kHeap, kHeap + 1}, i);
  }
  EXPECT_FALSE(index.make_room({kHeap, kHeap + 1})) << "seven of its own, and one block more";
  index.remove({kHeap, kHeap + 1}, 3);
  EXPECT_TRUE(index.make_room({kHeap, kHeap + 1}));
  EXPECT_TRUE(index.make_room({kHeap + (2 << 20), kHeap + (2 << 20) + 1}));
  EXPECT_FALSE(index.make_room({kHeap + (4 << 20), kHeap + (4 << 20) + 1})) << "two regions";
}

/// Against a list, by chance: pieces of all sizes, added and removed.
TEST(CodeIndex, KnowsWhatAListKnows) {
  CodeIndex index({.most_regions = 16, .most_more = 1000});
  std::map<std::uint32_t, AddressRange> list;
  std::mt19937 random(5);
  for (std::uint32_t i = 1; i < 3000; i++) {
    const Address begin = kHeap + random() % 0x3000;
    const AddressRange range{begin, begin + 1 + random() % (i % 5 == 0 ? 3000 : 90)};
    ASSERT_TRUE(index.make_room(range));
    index.add(range, i);
    list[i] = range;
    while (list.size() > 60) {
      const auto gone = std::next(list.begin(), static_cast<long>(random() % list.size()));
      index.remove(gone->second, gone->first);
      list.erase(gone);
    }
    const Address at = kHeap + random() % 0x4000;
    const auto numbers = numbers_at(index, at);
    for (const auto& [number, place] : list) ASSERT_TRUE(!place.contains(at) || numbers.contains(number)) << number;
    for (const std::uint32_t number : numbers) ASSERT_TRUE(list.contains(number)) << "it was removed";
  }
}

}  // namespace
}  // namespace mixstack::agent
