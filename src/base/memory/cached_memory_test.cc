#include "base/memory/cached_memory.h"

#include <gtest/gtest.h>

#include <random>

#include "base/memory/buffer_memory.h"

namespace mixstack::memory {
namespace {

constexpr std::size_t kPage = 4096;

/// Counts what the cache asks for.
class CountingMemory final : public MemoryReader {
 public:
  explicit CountingMemory(const MemoryReader& below) : below_(below) {}
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    reads++;
    return below_.read_some(address, out);
  }
  mutable int reads = 0;

 private:
  const MemoryReader& below_;
};

std::vector<std::byte> noise(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(size);
  for (auto& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

class CachedMemoryTest : public testing::Test {
 protected:
  CachedMemoryTest() : bytes_(noise(64 * kPage, 1)) { below_.add(kBase, bytes_); }
  static constexpr Address kBase = 0x10000;
  std::vector<std::byte> bytes_;
  BufferMemory below_;
  CountingMemory counting_{below_};
};

TEST_F(CachedMemoryTest, ReadsEachPageOnceAndAhead) {
  const CachedMemory cache(counting_, {kPage, 64, 4});
  EXPECT_TRUE(cache.read<int>(kBase + 8).has_value());
  EXPECT_EQ(counting_.reads, 1);
  for (Address a = kBase; a < kBase + 4 * kPage; a += 64) EXPECT_TRUE(cache.read<int>(a).has_value());
  EXPECT_EQ(counting_.reads, 1);
  EXPECT_EQ(cache.cached_pages(), 4u);
  EXPECT_TRUE(cache.read<int>(kBase + 4 * kPage).has_value());
  EXPECT_EQ(counting_.reads, 2);
}

TEST_F(CachedMemoryTest, ReadsFurtherAheadWhileReadsFollowEachOther) {
  const CachedMemory cache(counting_, {kPage, 1024, 4});
  for (Address a = kBase; a < kBase + 60 * kPage; a += kPage) EXPECT_TRUE(cache.read<int>(a).has_value());
  EXPECT_EQ(counting_.reads, 5) << "4, 4, 16, 32, 64 pages: twice as many, as far as there is room side by side";
  const CachedMemory scattered(counting_, {kPage, 1024, 4});
  counting_.reads = 0;
  for (const unsigned page : {40u, 20u, 50u, 0u, 30u, 10u})
    EXPECT_TRUE(scattered.read<int>(kBase + page * kPage).has_value());
  EXPECT_EQ(counting_.reads, 6);
  EXPECT_EQ(scattered.cached_pages(), 24u);
}

TEST_F(CachedMemoryTest, APieceReadAheadIsLookedForWhenItIsWanted) {
  const CachedMemory cache(counting_, {kPage, 64, 4});
  EXPECT_TRUE(cache.read<int>(kBase + 62 * kPage).has_value());
  EXPECT_EQ(cache.cached_pages(), 2u);
  below_.add(kBase + 64 * kPage, std::span(bytes_).first(kPage));
  EXPECT_TRUE(cache.read<int>(kBase + 64 * kPage).has_value()) << "was not read, and is not taken for unreadable";
}

TEST_F(CachedMemoryTest, AnswersLikeTheMemoryBelowWhateverItsSize) {
  std::mt19937 random(2);
  for (const std::size_t pages : {8u, 16u, 1000u}) {
    const CachedMemory cache(below_, {kPage, pages, 3});
    for (int i = 0; i < 20'000; i++) {
      const Address at = kBase - kPage + random() % (66 * kPage);
      const std::size_t size = random() % 3 == 0 ? random() % (4 * kPage) : random() % 64;
      std::vector<std::byte> ours(size), theirs(size);
      const auto a = cache.read_some(at, ours);
      const auto b = below_.read_some(at, theirs);
      ASSERT_EQ(a.has_value(), b.has_value() || size == 0) << at;
      if (!a || !b) continue;
      ASSERT_EQ(*a, *b);
      ASSERT_EQ(ours, theirs);
    }
    EXPECT_LE(cache.cached_pages(), pages);
  }
}

TEST_F(CachedMemoryTest, RemembersWhatCannotBeReadAndForgetsOnClear) {
  CachedMemory cache(counting_);
  for (int i = 0; i < 10; i++) EXPECT_EQ(cache.read<int>(0x8000).error().code, ErrorCode::unreadable_memory);
  EXPECT_EQ(counting_.reads, 1);
  below_.add_value(0x8000, 42);
  EXPECT_FALSE(cache.read<int>(0x8000).has_value()) << "as old as the last clear";
  const auto generation = cache.generation();
  cache.clear();
  EXPECT_NE(cache.generation(), generation);
  EXPECT_EQ(cache.read<int>(0x8000).value(), 42);
  EXPECT_EQ(cache.cached_pages(), 1u);
}

/// Counts how often it is asked for many ranges.
class CountingBulk final : public BulkMemory {
 public:
  explicit CountingBulk(const MemoryReader& below) : below_(below) {}
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    reads++;
    return below_.read_some(address, out);
  }
  void read_ranges(std::span<RangeRead> ranges) const override {
    together.push_back(ranges.size());
    for (auto& r : ranges) r.done = below_.read_some(r.address, r.out).value_or(0);
  }
  mutable int reads = 0;
  mutable std::vector<std::size_t> together;

 private:
  const MemoryReader& below_;
};

TEST_F(CachedMemoryTest, ReadsWhatWasUsedAgainWithOneCall) {
  const CountingBulk below(below_);
  CachedMemory cache(below, {kPage, 64, 2});
  const auto look = [&] {
    for (const Address page : {kBase, kBase + 8 * kPage, kBase + 20 * kPage})
      EXPECT_EQ(cache.read<int>(page).value(), below_.read<int>(page).value());
    EXPECT_FALSE(cache.read<int>(0x8000).has_value());
  };
  look();
  EXPECT_EQ(below.reads, 4);
  for (int round = 1; round < 3; round++) {
    cache.clear();
    cache.clear();
    look();
    EXPECT_EQ(below.together, std::vector<std::size_t>(static_cast<std::size_t>(round), 3))
        << "not what was read ahead";
    EXPECT_EQ(below.reads, 4 + round) << "what could not be read is looked for again";
  }
}

TEST_F(CachedMemoryTest, FetchesWhatIsScatteredWithOneCallAndNothingAroundIt) {
  const CountingBulk below(below_);
  CachedMemory cache(below, {kPage, 8, 2});
  const AddressRange both{kBase + 9 * kPage - 4, kBase + 9 * kPage + 4}, none{0x8000, 0x8004};
  cache.fetch(std::vector<AddressRange>{{kBase + 4, kBase + 8}, both, none, both});
  EXPECT_EQ(below.together, (std::vector<std::size_t>{4}));
  EXPECT_EQ(cache.cached_pages(), 4u);
  for (const Address at : {kBase, both.begin, both.begin + 4})
    EXPECT_EQ(cache.read<int>(at).value(), below_.read<int>(at).value());
  EXPECT_EQ(below.reads, 0);
  EXPECT_FALSE(cache.read<int>(none.begin).has_value());
  EXPECT_EQ(below.reads, 1) << "what could not be had is looked for when it is asked for";
  // More than there is room for, and what is there already.
  std::vector<AddressRange> many;
  for (Address page = 0; page < 20; page++) many.push_back({kBase + page * kPage, kBase + page * kPage + 1});
  cache.fetch(many);
  EXPECT_LE(cache.cached_pages(), 8u);
  for (const AddressRange& r : many) EXPECT_EQ(cache.read<int>(r.begin).value(), below_.read<int>(r.begin).value());
}

TEST_F(CachedMemoryTest, WhatWillBeNeededIsFetchedWithTheFirstMiss) {
  const CountingBulk below(below_);
  CachedMemory cache(below, {kPage, 16, 1});
  const AddressRange near{kBase + 4, kBase + 8}, far{kBase + 9 * kPage - 4, kBase + 9 * kPage + 4};
  cache.fetch_when_missed(std::vector<AddressRange>{near, far});
  EXPECT_TRUE(below.together.empty());
  for (const Address at : {far.begin, near.begin, far.begin + 4})
    EXPECT_EQ(cache.read<int>(at).value(), below_.read<int>(at).value());
  EXPECT_EQ(below.together, (std::vector<std::size_t>{3}));
  EXPECT_EQ(below.reads, 0);
}

TEST_F(CachedMemoryTest, LargeReadsGoPastIt) {
  const CachedMemory cache(counting_, {kPage, 16, 2});
  std::vector<std::byte> all(bytes_.size());
  EXPECT_EQ(cache.read_some(kBase, all).value(), all.size());
  EXPECT_EQ(all, bytes_);
  EXPECT_EQ(cache.cached_pages(), 0u);
}

TEST(CachedMemory, TheTopOfTheAddressSpace) {
  BufferMemory below;
  const auto bytes = noise(kPage - 1, 3);
  below.add(~Address{0} - (kPage - 2), bytes);
  const CachedMemory cache(below);
  EXPECT_FALSE(cache.read<int>(~Address{0} - 1).has_value());
  EXPECT_FALSE(cache.read<int>(0).has_value());
}

/// Records the reads that it is told of.
class Listening final : public WitnessedMemory {
 public:
  explicit Listening(const MemoryReader& below) : below_(below) {}
  [[nodiscard]] const MemoryReader& below() const override { return below_; }
  void was_read(Address address, std::span<const std::byte> bytes) const override {
    heard.emplace_back(address, bytes.size());
  }
  mutable std::vector<std::pair<Address, std::size_t>> heard;

 private:
  const MemoryReader& below_;
};

TEST_F(CachedMemoryTest, AWitnessHearsOfWhatWasAskedForAndNotOfPages) {
  const Listening listening(counting_);
  const CachedMemory cache(listening);
  std::array<std::byte, 24> some{};
  for (int i = 0; i < 3; i++) EXPECT_TRUE(cache.read_exact(kBase + 100, some));
  EXPECT_FALSE(cache.read<int>(0));
  EXPECT_EQ(counting_.reads, 2) << "one of them of what cannot be read";
  const std::pair<Address, std::size_t> once{kBase + 100, some.size()};
  EXPECT_EQ(listening.heard, (std::vector{once, once, once}));
  EXPECT_TRUE(listening.read_exact(kBase, some)) << "without a cache";
  EXPECT_EQ(listening.heard.size(), 4u);
}

/// Memory that may hold a page in part.
class Gaps final : public MemoryReader {
 public:
  Gaps() {
    below_.add(0x1000, first_);
    below_.add(0x1100, second_);
  }
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    return below_.read_some(address, out);
  }
  [[nodiscard]] bool has_whole_pages() const override { return false; }

 private:
  std::vector<std::byte> first_ = noise(16, 1), second_ = noise(16, 2);
  BufferMemory below_;
};

TEST(CachedMemory, PiecesOfAPageAreFoundBehindGaps) {
  const Gaps gaps;
  const CachedMemory cache(gaps);
  EXPECT_TRUE(cache.read<std::uint64_t>(0x1000));
  EXPECT_FALSE(cache.read<std::uint64_t>(0x1010));
  EXPECT_TRUE(cache.read<std::uint64_t>(0x1108));
  EXPECT_FALSE(cache.has_whole_pages());
}

}  // namespace
}  // namespace mixstack::memory
