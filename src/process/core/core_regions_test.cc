#include "process/core/core_regions.h"

#include <gtest/gtest.h>

namespace mixstack::process {
namespace {

CoreSegment segment(Address begin, Address end, std::string_view permissions) {
  CoreSegment s;
  s.range = {begin, end};
  s.dumped = end - begin;
  s.readable = permissions.find('r') != std::string_view::npos;
  s.writable = permissions.find('w') != std::string_view::npos;
  s.executable = permissions.find('x') != std::string_view::npos;
  return s;
}

TEST(CoreRegions, KernelSegmentsAreMappings) {
  const auto regions = core_regions({segment(0x1000, 0x2000, "r"), segment(0x2000, 0x4000, "rx")},
                                    {{{0x1000, 0x2000}, 0, "/lib/a.so"}, {{0x2000, 0x4000}, 0x1000, "/lib/a.so"}}, 0);
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_TRUE(regions[0].permissions_known);
  EXPECT_FALSE(regions[0].region.executable);
  EXPECT_TRUE(regions[1].permissions_known);
  EXPECT_TRUE(regions[1].region.executable);
  EXPECT_EQ(regions[0].region.inode, regions[1].region.inode);
}

// createdump: one segment over three mappings of an image, with the flags of the first.
TEST(CoreRegions, ASegmentOverSeveralMappingsDoesNotTellTheirPermissions) {
  const auto regions = core_regions({segment(0x1000, 0x4000, "r")},
                                    {{{0x1000, 0x2000}, 0, "/lib/a.so"},
                                     {{0x2000, 0x3000}, 0x1000, "/lib/a.so"},
                                     {{0x3000, 0x4000}, 0x2000, "/lib/a.so"}},
                                    0);
  ASSERT_EQ(regions.size(), 3u);
  for (const CoreRegion& r : regions) {
    EXPECT_FALSE(r.permissions_known);
    EXPECT_TRUE(r.region.readable);
    EXPECT_FALSE(r.region.executable);
  }
}

// createdump: single pages of a mapping.
TEST(CoreRegions, SegmentsInsideAMappingDoNotTellItsPermissions) {
  const auto regions = core_regions({segment(0x3000, 0x4000, "rx"), segment(0x6000, 0x7000, "rx")},
                                    {{{0x1000, 0x9000}, 0, "/lib/a.dll"}}, 0);
  ASSERT_EQ(regions.size(), 1u);
  EXPECT_FALSE(regions[0].permissions_known);
  EXPECT_TRUE(regions[0].region.executable);
  EXPECT_EQ(regions[0].region.range, (AddressRange{0x1000, 0x9000}));
}

TEST(CoreRegions, AMappingWithoutASegmentMayBeCode) {
  const auto regions = core_regions({}, {{{0x1000, 0x2000}, 0, "/lib/a.so (deleted)"}}, 0);
  ASSERT_EQ(regions.size(), 1u);
  EXPECT_FALSE(regions[0].permissions_known);
  EXPECT_TRUE(regions[0].region.executable);
  EXPECT_TRUE(regions[0].region.deleted);
  EXPECT_EQ(regions[0].region.path, "/lib/a.so");
}

TEST(CoreRegions, WhatLiesBetweenMappingsIsAnonymous) {
  const auto regions = core_regions({segment(0x1000, 0x6000, "rw"), segment(0x8000, 0x9000, "rx")},
                                    {{{0x2000, 0x3000}, 0, "/lib/a.so"}}, 0x8000);
  ASSERT_EQ(regions.size(), 4u);
  EXPECT_EQ(regions[0].region.range, (AddressRange{0x1000, 0x2000}));
  EXPECT_EQ(regions[0].region.inode, 0u);
  EXPECT_EQ(regions[2].region.range, (AddressRange{0x3000, 0x6000}));
  EXPECT_TRUE(regions[2].region.writable);
  EXPECT_EQ(regions[3].region.path, "[vdso]");
}

TEST(CoreRegions, AListOfAllMappingsIsTakenAsItIs) {
  const auto mapping = [](Address begin, Address end, const char* path) {
    Region r;
    r.range = {begin, end};
    r.path = path;
    r.readable = true;
    return r;
  };
  const auto regions =
      core_regions({mapping(0x5000, 0x6000, "/b"), mapping(0x1000, 0x3000, "/a"), mapping(0x2000, 0x4000, "/overlaps"),
                    mapping(0x8000, 0x9000, "[heap]"), mapping(0x6000, 0x7000, "/a")});
  ASSERT_EQ(regions.size(), 4u);
  EXPECT_EQ(regions[0].region.path, "/a");
  EXPECT_EQ(regions[1].region.path, "/b");
  EXPECT_EQ(regions[2].region.inode, regions[0].region.inode) << "the same file";
  EXPECT_NE(regions[1].region.inode, regions[0].region.inode);
  EXPECT_EQ(regions[3].region.inode, 0u);
  for (const CoreRegion& r : regions) EXPECT_TRUE(r.permissions_known && r.region.readable);
}

}  // namespace
}  // namespace mixstack::process
