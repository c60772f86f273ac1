#include "features/memory/page_sites.h"

#include <gtest/gtest.h>

#include "features/memory/site_names.h"

namespace mixstack::memory_use {
namespace {

using Kind = record::MemoryEvent::Kind;

constexpr std::uint64_t kPage = 4096;
constexpr Address kLarge = 0x10000000, kPool = 0x20000000, kHeap = 0x30000000, kFile = 0x40000000;

class PageSitesTest : public ::testing::Test {
 protected:
  PageSitesTest() {
    look_.begin_ns = look_.before_ns = 0;
    look_.end_ns = 100;
    label({kLarge, kLarge + (1 << 24)}, MemoryKind::malloc_large);
    label({kPool, kPool + (1 << 24)}, MemoryKind::malloc_used);
    label({kHeap, kHeap + (1 << 24)}, MemoryKind::gc_objects);
    label({kFile, kFile + (1 << 24)}, MemoryKind::file_program);
  }
  void label(AddressRange range, MemoryKind kind) {
    for (LabelledSpace* space : {&look_.labels_before, &look_.labels_after}) {
      space->map.claim(range, static_cast<RangeMap::Label>(space->labels.size()));
      space->labels.push_back({kind, ""});
      Region region;
      region.range = range;
      region.readable = true;
      space->regions.push_back(region);
    }
  }
  /// Outermost first. "Shop." is the program's own code; "native" is none of .NET's.
  std::uint32_t stack(const std::vector<std::string>& names) {
    std::uint32_t node = 0;
    for (const std::string& name : names) {
      const bool is_native = name.find('.') == std::string::npos;
      const auto function = recording_.function({.name = name,
                                                 .kind = is_native ? CodeKind::native : CodeKind::managed,
                                                 .is_user = name.starts_with("Shop.") || name.starts_with("native")});
      node = *recording_.node({node, *recording_.frame({.function = *function})});
    }
    return node;
  }
  void touch(Address page, std::uint64_t time, std::uint32_t stack) {
    look_.events.push_back({{Kind::touched, {page, page + kPage}, time}, stack});
  }
  void map(AddressRange range, std::uint64_t time, std::uint32_t stack) {
    look_.events.push_back({{Kind::mapped, range, time}, stack});
  }
  NativeGrowth join() {
    look_.labels_before.map.settle();
    look_.labels_after.map.settle();
    NativeGrowth out;
    join_pages(look_, recording_, out);
    // Sums always match.
    std::uint64_t sites = 0, came = 0, went = 0, before = 0, after = 0;
    for (const NativeSite& site : out.sites) sites += site.bytes;
    for (const NativeLabel& one : out.labels) {
      came += one.came;
      went += one.went;
      before += one.before;
      after += one.after;
    }
    EXPECT_EQ(sites + out.managed + out.files, out.came);
    EXPECT_EQ(came, out.came);
    EXPECT_EQ(went, out.went);
    EXPECT_EQ(before, out.before);
    EXPECT_EQ(after, out.after);
    EXPECT_EQ(out.after - out.before, out.came - out.went);
    return out;
  }

  NativeLook look_;
  Recording recording_;
};

TEST_F(PageSitesTest, ALargeBlockIsOfWhoMappedIt) {
  const auto maker = stack({"Shop.Main", "Shop.Load", "Marshal.AllocHGlobal", "malloc", "mmap"});
  const auto user = stack({"Shop.Main", "Shop.Fill"});
  map({kLarge, kLarge + 8 * kPage}, 10, maker);
  map({kLarge + 8 * kPage, kLarge + 16 * kPage}, 60, maker);
  for (Address i = 0; i < 16; i++) touch(kLarge + i * kPage, i < 8 ? 11 : 61, user);
  look_.after = {{kLarge, kLarge + 16 * kPage}};
  const NativeGrowth out = join();
  ASSERT_EQ(out.sites.size(), 1u);
  EXPECT_EQ(out.sites[0].tie, SiteTie::mapped);
  EXPECT_EQ(out.sites[0].place, "Shop.Load");
  EXPECT_EQ(out.sites[0].via, "Marshal.AllocHGlobal");
  EXPECT_EQ(out.sites[0].toucher, "Shop.Fill");
  EXPECT_EQ(out.sites[0].bytes, 16 * kPage);
  EXPECT_EQ(out.sites[0].halves[0], 8 * kPage);
  EXPECT_EQ(out.sites[0].near_bytes, 0u);
  EXPECT_EQ(out.sites[0].calls, 2u);
  EXPECT_EQ(out.sites[0].label.kind, MemoryKind::malloc_large);
  EXPECT_TRUE(out.sites[0].is_steady());
}

TEST_F(PageSitesTest, APoolIsOfWhoUsedItFirst) {
  map({kPool, kPool + 64 * kPage}, 5, stack({"Shop.Main", "Shop.First", "malloc", "mmap"}));
  touch(kPool, 10, stack({"Shop.Main", "native_load"}));
  touch(kPool + kPage, 20, stack({"Shop.Main", "Shop.Two"}));
  look_.after = {{kPool, kPool + 2 * kPage}};
  const NativeGrowth out = join();
  ASSERT_EQ(out.sites.size(), 3u);  // the mapper has no pages
  EXPECT_EQ(out.sites[0].bytes, kPage);
  EXPECT_EQ(out.sites[0].tie, SiteTie::touched);
  EXPECT_EQ(out.sites[0].place, "Shop.Two");
  EXPECT_EQ(out.sites[1].place, "native_load");
  EXPECT_EQ(out.sites[1].caller, "Shop.Main");
  EXPECT_FALSE(out.sites[0].is_steady());
}

TEST_F(PageSitesTest, WhatIsFreedIsNoGrowth) {
  const auto maker = stack({"Shop.Main", "Shop.Cycle"});
  for (std::uint64_t time = 1; time < 100; time++) map({kLarge, kLarge + 4 * kPage}, time, maker);
  touch(kLarge, 99, maker);
  look_.before = look_.after = {{kLarge, kLarge + 4 * kPage}};
  const NativeGrowth out = join();
  ASSERT_EQ(out.sites.size(), 1u);
  // The last block is there; it came in place of another.
  EXPECT_EQ(out.came, 4 * kPage);
  EXPECT_EQ(out.went, 4 * kPage);
  EXPECT_FALSE(out.sites[0].is_steady());
  EXPECT_EQ(out.sites[0].mapped_ever, 99 * 4 * kPage);
  EXPECT_EQ(out.sites[0].mapped_now, 4 * kPage);
}

TEST_F(PageSitesTest, PagesBetweenSamplesAreOfTheNearest) {
  look_.period = 4;
  touch(kPool, 10, stack({"Shop.A"}));
  touch(kPool + 8 * kPage, 60, stack({"Shop.B"}));
  look_.after = {{kPool, kPool + 16 * kPage}};
  const NativeGrowth out = join();
  ASSERT_EQ(out.sites.size(), 2u);
  EXPECT_EQ(out.sites[0].place, "Shop.B");
  EXPECT_EQ(out.sites[0].bytes, 12 * kPage);
  EXPECT_EQ(out.sites[1].bytes, 4 * kPage);
  EXPECT_EQ(out.sites[1].near_bytes, 4 * kPage);
}

TEST_F(PageSitesTest, FarFromAnySampleNobodyIsNamed) {
  touch(kPool, 10, stack({"Shop.A"}));
  look_.after = {{kPool + (8 << 20), kPool + (8 << 20) + kPage}};
  const NativeGrowth out = join();
  ASSERT_EQ(out.sites.size(), 1u);
  EXPECT_EQ(out.sites[0].place, "");
  EXPECT_EQ(out.sites[0].bytes, kPage);
}

TEST_F(PageSitesTest, TheManagedHeapAndFilesAreNoSites) {
  touch(kHeap, 10, stack({"Shop.New"}));
  look_.after = {{kHeap, kHeap + 2 * kPage}, {kFile, kFile + kPage}};
  const NativeGrowth out = join();
  EXPECT_TRUE(out.sites.empty());
  EXPECT_EQ(out.managed, 2 * kPage);
  EXPECT_EQ(out.files, kPage);
}

TEST_F(PageSitesTest, TheHeapOfBrkGrowsAndShrinks) {
  look_.first_break = kPool;
  const auto grower = stack({"Shop.Grow", "sbrk"});
  look_.events.push_back({{Kind::broke, {kPool + 4 * kPage, kPool + 4 * kPage}, 10}, grower});
  look_.events.push_back({{Kind::broke, {kPool + 2 * kPage, kPool + 2 * kPage}, 20}, stack({"Shop.Trim"})});
  look_.after = {{kPool, kPool + 4 * kPage}};
  const NativeGrowth out = join();
  ASSERT_EQ(out.sites.size(), 2u);
  EXPECT_EQ(out.sites[0].bytes, 2 * kPage);
  EXPECT_EQ(out.sites[1].bytes, 2 * kPage);
  EXPECT_TRUE(out.sites[0].place.empty() || out.sites[1].place.empty());
}

TEST_F(PageSitesTest, NamesOfPlaces) {
  const SiteName of_library = site_name(recording_, stack({"Shop.Main", "Shop.Call", "native_grow", "malloc"}));
  EXPECT_EQ(of_library.place, "native_grow");
  EXPECT_EQ(of_library.caller, "Shop.Call");
  EXPECT_EQ(of_library.via, "malloc");
  EXPECT_EQ(site_name(recording_, stack({"System.Thread.Start", "clone"})).place, "System.Thread.Start");
  EXPECT_EQ(site_name(recording_, stack({"clone", "mmap"})).place, "mmap");
  EXPECT_EQ(site_name(recording_, 0).place, "");
}

}  // namespace
}  // namespace mixstack::memory_use
