#include "base/memory/page_map.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

namespace mixstack::memory {
namespace {

constexpr std::uint64_t kPage = 4096;
using State = PageMap::State;

/// Pages of our own, none of them there yet.
class PageMapTest : public testing::Test {
 protected:
  static constexpr std::size_t kPages = 1200;  // more than one look-up tells
  void SetUp() override {
    void* at = ::mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(at, MAP_FAILED);
    ::madvise(at, kPages * kPage, MADV_NOHUGEPAGE);
    bytes_ = static_cast<char*>(at);
    base_ = reinterpret_cast<Address>(at);
  }
  void TearDown() override { ::munmap(bytes_, kPages * kPage); }
  void touch(std::size_t page) { static_cast<volatile char*>(bytes_)[page * kPage] = 1; }
  [[nodiscard]] AddressRange pages(std::size_t first, std::size_t end) const {
    return {base_ + first * kPage, base_ + end * kPage};
  }

  char* bytes_ = nullptr;
  Address base_ = 0;
  PageMap map_{base::ScopedFd(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC))};
};

TEST_F(PageMapTest, TellsWhatIsThereWithoutTouchingIt) {
  for (const std::size_t page : {2u, 3u, 4u, 7u}) touch(page);
  for (int round = 0; round < 2; round++) {
    auto run = map_.run(pages(0, 10));
    EXPECT_EQ(run.state, State::absent);
    EXPECT_EQ(run.end, base_ + 2 * kPage);
    run = map_.run({base_ + 2 * kPage + 100, base_ + 10 * kPage});
    EXPECT_EQ(run.state, State::present) << "from the middle of a page, and remembered in the second round";
    EXPECT_EQ(run.end, base_ + 5 * kPage);
    EXPECT_EQ(map_.run({base_ + 3 * kPage, base_ + 3 * kPage + 8}).end, base_ + 3 * kPage + 8)
        << "not beyond the range";
  }
}

TEST_F(PageMapTest, WhatComesLaterIsSeen) {
  EXPECT_EQ(map_.run(pages(5, 6)).state, State::absent);
  touch(5);
  EXPECT_EQ(map_.run(pages(5, 6)).state, State::present) << "only what is there is remembered";
  ::madvise(bytes_ + 5 * kPage, kPage, MADV_DONTNEED);
  map_.forget();
  EXPECT_EQ(map_.run(pages(5, 6)).state, State::absent);
}

TEST_F(PageMapTest, AScanSeesWhatLooksSee) {
  for (std::size_t page = 0; page < kPages; page += 2) touch(page);
  if (!map_.scan(pages(0, kPages))) GTEST_SKIP() << "this kernel has no PAGEMAP_SCAN (Linux 6.7)";
  for (std::size_t page = 0; page < kPages; page++) {
    ::madvise(bytes_ + page * kPage, kPage, MADV_DONTNEED);  // only what was remembered can answer
    const auto run = map_.run(pages(page, page + 1));
    EXPECT_EQ(run.state, page % 2 == 0 ? State::present : State::absent) << page;
  }
  EXPECT_FALSE(PageMap().scan(pages(0, 1)));
}

TEST_F(PageMapTest, LongRunsEndWhereALookUpDoesAndGoOnFromThere) {
  for (std::size_t page = 0; page < kPages; page++) touch(page);
  Address at = base_;
  for (int looks = 0; at < base_ + kPages * kPage && looks < 10; looks++) {
    const auto run = map_.run({at, base_ + kPages * kPage});
    ASSERT_EQ(run.state, State::present);
    at = run.end;
  }
  EXPECT_EQ(at, base_ + kPages * kPage);
  EXPECT_EQ(map_.run(pages(0, kPages)).end, base_ + kPages * kPage) << "remembered whole";
}

TEST(PageMap, PagesOfFilesAndSharedOnesAreTold) {
  constexpr std::size_t kSize = 2 * 4096;
  const base::ScopedFd exe(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  void* mapped = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE, exe.get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* bytes = static_cast<volatile char*>(mapped);
  (void)bytes[0];
  const auto at = reinterpret_cast<Address>(mapped);
  const PageMap map(base::ScopedFd(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)));
  bytes[4096] = 1;  // now a page of the process alone
  for (int round = 0; round < 2; round++) {
    const auto file = map.run({at, at + kSize});
    EXPECT_EQ(file.state, PageMap::State::shared) << "round " << round;
    EXPECT_EQ(file.end, at + 4096);
    EXPECT_EQ(map.run({at + 4096, at + kSize}).state, PageMap::State::present);
  }
  ::munmap(mapped, kSize);
}

TEST(PageMap, WithoutAPagemapNothingIsKnown) {
  const auto run = PageMap().run({0x1000, 0x9000});
  EXPECT_EQ(run.state, State::unknown);
  EXPECT_EQ(run.end, 0x9000u);
}

TEST(PageMap, NothingLiesAtAddressesOfNobody) {
  const PageMap map(base::ScopedFd(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)));
  EXPECT_EQ(map.run({0xffff'8000'0000'0000, 0xffff'8000'0001'0000}).state, State::absent);
  EXPECT_EQ(map.run({0, 0x1000}).state, State::absent);
}

}  // namespace
}  // namespace mixstack::memory
