#include "dotnet/heap/element_counter.h"

#include <gtest/gtest.h>

#include <cstring>

#include "dotnet/heap/heap_walk.h"
#include "support/fake_heap.h"

namespace mixstack::dotnet::objects {
namespace {

/// The one type is an array of references; the same MethodTable stands for strings where the counter is told so.
class ElementCounterTest : public ::testing::Test {
 protected:
  /// An object as bytes: word of the type, length, elements.
  static std::vector<std::byte> object(std::size_t length, std::size_t begin, std::string_view elements) {
    std::vector<std::byte> out(begin + elements.size());
    const auto words = static_cast<std::uint32_t>(length);
    std::memcpy(out.data() + 8, &words, sizeof words);
    if (!elements.empty()) std::memcpy(out.data() + begin, elements.data(), elements.size());
    return out;
  }
  static std::uint64_t size_of(std::size_t length) { return (22 + 2 * length + 7) & ~std::uint64_t{7}; }
  void string(ElementCounter& to, std::u16string_view text, std::size_t times = 1) const {
    const auto bytes = object(text.size(), 12, {reinterpret_cast<const char*>(text.data()), text.size() * 2});
    for (std::size_t i = 0; i < times; i++)
      to.take(array_, static_cast<std::uint32_t>(text.size()), size_of(text.size()), bytes);
  }
  void array(ElementCounter& to, const std::string& elements) const {
    const std::size_t length = elements.size() / 8;
    to.take(array_, static_cast<std::uint32_t>(length), 24 + elements.size(), object(length, 16, elements));
  }
  using Sums = std::vector<std::shared_ptr<const ElementSums>>;

  test::FakeHeap heap_;
  ObjectSizes sizes_{heap_.runtime()};
  std::uint32_t array_ = *sizes_.find(heap_.array);
};

TEST_F(ElementCounterTest, ZerosAtTheEndsOfArrays) {
  ElementCounter counter(sizes_, nullptr, 0, true);
  counter.begin(false);
  array(counter, "");
  array(counter, std::string(160, 'a'));
  array(counter, std::string(80, 'a') + std::string(80, '\0'));
  array(counter, std::string(81, 'a') + std::string(79, '\0'));
  array(counter, std::string(160, '\0'));
  array(counter, std::string(120, '\0'));  // too small to be worth a line
  const HeapElements e = elements_of(Sums{counter.end()});
  EXPECT_EQ(e.arrays.count, 6U);
  EXPECT_EQ(e.empty_arrays.count, 1U);
  EXPECT_EQ(e.half_empty_arrays.count, 2U);
  EXPECT_EQ(e.half_empty_arrays.bytes, 2U * 184);
  EXPECT_EQ(e.zeros_of_them, 80U + 160);
}

TEST_F(ElementCounterTest, DuplicatesOverRegions) {
  ElementCounter counter(sizes_, nullptr, heap_.array, true);
  Sums regions;
  for (int region = 0; region < 2; region++) {
    counter.begin(false);
    string(counter, u"status=shipped", 50);
    string(counter, u"EUR", 10);
    string(counter, u"");
    string(counter, region == 0 ? u"one" : u"two");
    regions.push_back(counter.end());
  }
  const HeapElements e = elements_of(regions);
  EXPECT_EQ(e.one_in, 1U);
  EXPECT_EQ(e.strings.count, 124U);
  EXPECT_EQ(e.empty_strings.count, 2U);
  EXPECT_EQ(e.duplicates.count, 99U + 19);
  EXPECT_EQ(e.duplicates.bytes, 99 * size_of(14) + 19 * size_of(3));
  ASSERT_EQ(e.most.size(), 2U);
  EXPECT_EQ(e.most[0].count, 100U);
  EXPECT_EQ(e.most[0].length, 14U);
  EXPECT_EQ(e.most[0].bytes, 100 * size_of(14));
  EXPECT_EQ(e.most[0].text, "status=shipped");
  EXPECT_EQ(e.most[1].text, "EUR");
}

TEST_F(ElementCounterTest, NoTextsWhereTheyWereNotAskedFor) {
  ElementCounter counter(sizes_, nullptr, heap_.array, false);
  counter.begin(false);
  string(counter, u"secret", 5);
  const HeapElements e = elements_of(Sums{counter.end()});
  ASSERT_EQ(e.most.size(), 1U);
  EXPECT_EQ(e.most[0].text, "");
}

TEST_F(ElementCounterTest, WhatIsNotAtHandIsSaid) {
  ElementCounter counter(sizes_, nullptr, heap_.array, true);
  counter.begin(false);
  const auto bytes = object(100, 12, "only the begin");
  counter.take(array_, 100, size_of(100), bytes);
  const HeapElements e = elements_of(Sums{counter.end()});
  EXPECT_EQ(e.strings.count, 1U);
  EXPECT_EQ(e.not_read.count, 1U);
  EXPECT_EQ(e.not_read.bytes, size_of(100));
  counter.begin(true);
  EXPECT_FALSE(counter.wants_all(array_, 32));
}

/// With little memory.
TEST_F(ElementCounterTest, FewerTextsAreKept) {
  constexpr std::size_t kMost = 1 << 14, kEach = 20'000;
  ElementCounter counter(sizes_, nullptr, heap_.array, false, kMost);
  Sums regions;
  std::u16string text(4, u' ');
  for (std::size_t number = 0; number < 5 * kEach;) {
    counter.begin(false);
    for (std::size_t i = 0; i < kEach; i++, number++) {
      for (std::size_t digit = 0; digit < 4; digit++)
        text[digit] = static_cast<char16_t>('a' + (number >> (5 * digit) & 31));
      string(counter, text, 1);
    }
    regions.push_back(counter.end());
  }
  std::size_t kept = 0;
  for (const auto& region : regions) kept += region->texts.size();
  EXPECT_LT(kept, 2 * kMost);
  const HeapElements e = elements_of(regions);
  EXPECT_GE(e.one_in, 8U);
  EXPECT_EQ(e.strings.count, 5 * kEach);
}

/// Three million different texts, and one that is there every fourth time: a part of them is kept, the sums stay near.
TEST_F(ElementCounterTest, TooManyTextsAreSampled) {
  ElementCounter counter(sizes_, nullptr, heap_.array, false);
  constexpr std::size_t kRegions = 12, kEach = 300'000;
  Sums regions;
  std::u16string text(8, u' ');
  std::size_t number = 0;
  for (std::size_t r = 0; r < kRegions; r++) {
    counter.begin(false);
    for (std::size_t i = 0; i < kEach; i++, number++) {
      for (std::size_t digit = 0; digit < 8; digit++)
        text[digit] = static_cast<char16_t>('a' + (number >> (4 * digit) & 15));
      string(counter, text, 1 + number % 2);
    }
    regions.push_back(counter.end());
  }
  std::size_t kept = 0;
  for (const auto& region : regions) kept += region->texts.size();
  EXPECT_LT(kept, 2 * ElementCounter::kMostOfAll);
  const HeapElements e = elements_of(regions);
  EXPECT_GT(e.one_in, 1U);
  EXPECT_EQ(e.strings.count, kRegions * kEach * 3 / 2);
  EXPECT_NEAR(static_cast<double>(e.duplicates.count), kRegions * kEach / 2.0, kRegions * kEach / 2.0 * 0.02);
}

}  // namespace
}  // namespace mixstack::dotnet::objects
