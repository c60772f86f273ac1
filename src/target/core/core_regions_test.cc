#include "target/core/core_regions.h"

#include <gtest/gtest.h>

#include <elf.h>

namespace mixstack::target {
namespace {

CoreSegment segment(Address begin, Address end, unsigned flags = PF_R | PF_W) {
  CoreSegment s;
  s.range = {begin, end};
  s.dumped = end - begin;
  s.readable = (flags & PF_R) != 0;
  s.writable = (flags & PF_W) != 0;
  s.executable = (flags & PF_X) != 0;
  return s;
}
CoreMapping mapping(Address begin, Address end, std::string path, std::uint64_t offset = 0) {
  return {{begin, end}, offset, std::move(path)};
}
std::string text_of(const std::vector<CoreRegion>& regions) {
  std::string out;
  for (const auto& [r, known] : regions) {
    char line[128];
    std::snprintf(line, sizeof line, "%lx-%lx %c%c%c%c %lu %s\n", r.range.begin, r.range.end, r.readable ? 'r' : '-',
                  r.writable ? 'w' : '-', r.executable ? 'x' : '-', known ? ' ' : '?', r.inode, r.path.c_str());
    out += line;
  }
  return out;
}

TEST(CoreRegions, AKernelsSegmentPerMapping) {
  const auto regions =
      core_regions({segment(0x1000, 0x2000, PF_R | PF_X), segment(0x2000, 0x3000), segment(0x9000, 0xa000)},
                   {mapping(0x1000, 0x2000, "/a"), mapping(0x2000, 0x3000, "/a", 0x1000)}, 0x9000);
  EXPECT_EQ(text_of(regions), "1000-2000 r-x  1 /a\n2000-3000 rw-  1 /a\n9000-a000 rw-  0 [vdso]\n");
  EXPECT_EQ(regions[1].region.file_offset, 0x1000U);
}

TEST(CoreRegions, FilesWithoutASegmentCountAsCodeUntilTheirFileSaysBetter) {
  EXPECT_EQ(text_of(core_regions({}, {mapping(0x1000, 0x2000, "/a"), mapping(0x5000, 0x6000, "/b")}, 0)),
            "1000-2000 r-x? 1 /a\n5000-6000 r-x? 2 /b\n");
}

TEST(CoreRegions, ASegmentAroundAFileIsMemoryBeforeAndBehindIt) {
  EXPECT_EQ(text_of(core_regions({segment(0x1000, 0x9000)},
                                 {mapping(0x3000, 0x4000, "/a"), mapping(0x6000, 0x7000, "/b")}, 0)),
            "1000-3000 rw-  0 \n3000-4000 rw-? 1 /a\n4000-6000 rw-  0 \n6000-7000 rw-? 2 /b\n7000-9000 rw-  0 \n");
}

TEST(CoreRegions, AFileOfManySegmentsHasTheRightsOfAllUntilItsHeadersSayBetter) {
  EXPECT_EQ(
      text_of(core_regions({segment(0x1000, 0x2000, PF_R), segment(0x2000, 0x3000, PF_X), segment(0x3000, 0x5000)},
                           {mapping(0x1000, 0x4000, "/a")}, 0)),
      "1000-4000 rwx? 1 /a\n4000-5000 rw-  0 \n");
}

TEST(CoreRegions, OfOverlappingFilesTheLowerIsBelieved) {
  EXPECT_EQ(text_of(core_regions(
                {}, {mapping(0x2000, 0x5000, "/b"), mapping(0x1000, 0x3000, "/a"), mapping(0x3000, 0x4000, "/c")}, 0)),
            "1000-3000 r-x? 1 /a\n3000-4000 r-x? 2 /c\n");
}

TEST(CoreRegions, DeletedFilesAndThoseThatAreMemory) {
  const auto regions = core_regions(
      {}, {mapping(0x1000, 0x2000, "/a (deleted)"), mapping(0x2000, 0x3000, "/memfd:doublemapper (deleted)")}, 0);
  EXPECT_EQ(regions[0].region.path, "/a");
  EXPECT_TRUE(regions[0].region.deleted && !regions[0].region.shared);
  EXPECT_TRUE(regions[1].region.deleted && regions[1].region.shared);
}

TEST(CoreRegions, AtTheEndsOfTheAddressSpace) {
  EXPECT_EQ(text_of(core_regions({segment(0, 0x1000), segment((1ULL << 63) - 0x1000, 1ULL << 63)},
                                 {mapping(~0ULL - 0xfff, ~0ULL, "/z")}, 0)),
            "0-1000 rw-  0 \n7ffffffffffff000-8000000000000000 rw-  0 \nfffffffffffff000-ffffffffffffffff r-x? 1 /z\n");
  EXPECT_TRUE(core_regions({}, {}, 0).empty());
}

}  // namespace
}  // namespace mixstack::target
