#include "process/live/resident_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace mixstack::process {
namespace {

constexpr const char* kText =
    "7f0000000000-7f0000004000 rw-p 00000000 00:00 0 \n"
    "Size:                 16 kB\n"
    "Rss:                  12 kB\n"
    "SwapPss:               1 kB\n"
    "Swap:                  4 kB\n"
    "VmFlags: rd wr mr mw me ac\n"
    "zzz\n"
    "7f0000008000-7f0000009000 r-xp 00001000 08:01 77 /lib/a b.so\n"
    "Rss:                   4 kB\n"
    "7f0000009000-7f000000a000 nonsense\n"
    "Rss:                 400 kB\n";

TEST(ResidentPagesTest, ParsesSmaps) {
  const auto all = parse_resident_mappings(kText);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].region.range, (AddressRange{0x7f0000000000, 0x7f0000004000}));
  EXPECT_EQ(all[0].resident, 12U << 10);
  EXPECT_EQ(all[0].swapped, 4U << 10);
  EXPECT_EQ(all[1].region.path, "/lib/a b.so");
  EXPECT_EQ(all[1].resident, 4U << 10);
}

TEST(ResidentPagesTest, PagesAreThoseOfTheMachine) {
  constexpr std::uint64_t kPresent = std::uint64_t{1} << 63, kSwapped = std::uint64_t{1} << 62;
  const std::vector<std::uint64_t> entries{kPresent, kPresent | 7, kSwapped, 0, kPresent};
  for (const std::uint64_t page : {4096U, 16384U, 65536U}) {
    std::vector<AddressRange> found;
    add_present(entries, 0x100000, page, found);
    add_present(entries, 0x100000 + 5 * page, page, found);
    EXPECT_EQ(found, (std::vector<AddressRange>{{0x100000, 0x100000 + 2 * page},
                                                {0x100000 + 4 * page, 0x100000 + 7 * page},
                                                {0x100000 + 9 * page, 0x100000 + 10 * page}}));
  }
}

TEST(ResidentPagesTest, PagesOfNobodyAreNotOwned) {
  constexpr std::uint64_t kPresent = std::uint64_t{1} << 63, kFiles = std::uint64_t{1} << 61,
                          kExclusive = std::uint64_t{1} << 56, kDirty = std::uint64_t{1} << 55;
  std::vector<AddressRange> found;
  add_owned(std::vector{kPresent | kFiles, kPresent | kDirty, kPresent | kExclusive, kFiles, kPresent}, 0x100000,
            0x1000, found);
  EXPECT_EQ(found, (std::vector<AddressRange>{{0x100000, 0x101000}, {0x102000, 0x103000}}));
}

/// A page that was only read is the kernel's page of zeros, and nobody's.
TEST(ResidentPagesTest, PagesOfZerosAreLeftOut) {
  constexpr std::size_t kPages = 64;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* map = ::mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(map, MAP_FAILED);
  ASSERT_EQ(::madvise(map, kPages * page, MADV_NOHUGEPAGE), 0);
  ASSERT_EQ(::mprotect(static_cast<char*>(map) + (kPages - 1) * page, page, PROT_NONE), 0);  // a mapping of its own
  ASSERT_EQ(::mprotect(map, page, PROT_NONE), 0);
  auto* bytes = static_cast<volatile char*>(map);
  for (std::size_t i = 1; i + 1 < kPages; i += 2) (void)bytes[i * page];
  for (const std::size_t i : {2U, 4U, 5U}) bytes[i * page] = 1;
  const auto begin = reinterpret_cast<Address>(map);
  const auto proc = ProcDir::open(static_cast<std::uint32_t>(::getpid()));
  ASSERT_TRUE(proc.has_value());
  const auto mappings = resident_mappings(*proc);
  ASSERT_TRUE(mappings.has_value());
  const auto ours = std::find_if(mappings->begin(), mappings->end(),
                                 [&](const ResidentMapping& m) { return m.region.range.begin == begin + page; });
  ASSERT_NE(ours, mappings->end());
  EXPECT_EQ(ours->resident, 3 * page);
  auto pages = ResidentPages::open(*proc);
  ASSERT_TRUE(pages.has_value());
  const std::vector<AddressRange> expected{{begin + 2 * page, begin + 3 * page}, {begin + 4 * page, begin + 6 * page}};
  for (const bool scans : {true, false}) {
    if (!scans) pages->forgo_scan();
    std::vector<AddressRange> found;
    EXPECT_TRUE(pages->each_counted(*ours, [&](AddressRange r) { found.push_back(r); }));
    EXPECT_EQ(found, expected) << scans;
    EXPECT_TRUE(pages->is_exact());
  }
  // Where the kernel has counted more, some of these pages are in common with another process.
  ResidentMapping other = *ours;
  other.resident += page;
  std::vector<AddressRange> found;
  EXPECT_TRUE(pages->each_counted(other, [&](AddressRange r) { found.push_back(r); }));
  EXPECT_GT(found.size(), expected.size());
  EXPECT_FALSE(pages->is_exact());
  ::munmap(map, kPages * page);
}

TEST(ResidentPagesTest, TellsWhichPagesAreThere) {
  constexpr std::size_t kPages = 8;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* map = ::mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(map, MAP_FAILED);
  ASSERT_EQ(::madvise(map, kPages * page, MADV_NOHUGEPAGE), 0);
  auto* bytes = static_cast<volatile char*>(map);
  for (const std::size_t i : {1U, 2U, 5U}) bytes[i * page] = 1;
  const auto begin = reinterpret_cast<Address>(map);
  const auto proc = ProcDir::open(static_cast<std::uint32_t>(::getpid()));
  ASSERT_TRUE(proc.has_value());
  auto pages = ResidentPages::open(*proc);
  ASSERT_TRUE(pages.has_value());
  std::vector<AddressRange> found;
  EXPECT_TRUE(pages->each({begin, begin + kPages * page}, [&](AddressRange r) { found.push_back(r); }));
  EXPECT_EQ(found, (std::vector<AddressRange>{{begin + page, begin + 3 * page}, {begin + 5 * page, begin + 6 * page}}));
  const auto mappings = resident_mappings(*proc);
  ASSERT_TRUE(mappings.has_value());
  EXPECT_GT(mappings->size(), 5U);
  ::munmap(map, kPages * page);
}

}  // namespace
}  // namespace mixstack::process
