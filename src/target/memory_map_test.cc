#include "target/memory_map.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace mixstack::target {
namespace {

TEST(MemoryMap, ReadsEveryColumn) {
  const auto regions = parse_memory_map(
      "55d0c0a00000-55d0c0a21000 r-xp 0001f000 fe:11 1234567                    /usr/bin/x y\n"
      "7f0000000000-7f0000001000 rw-s 00000000 00:01 42                         /memfd:doublemapper (deleted)\n"
      "7f0000001000-7f0000002000 ---p 00000000 00:00 0 \n"
      "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]\n"
      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n");
  ASSERT_EQ(regions.size(), 5u);
  EXPECT_EQ(regions[0].range, (AddressRange{0x55d0c0a00000, 0x55d0c0a21000}));
  EXPECT_TRUE(regions[0].readable && !regions[0].writable && regions[0].executable && !regions[0].shared);
  EXPECT_EQ(regions[0].file_offset, 0x1f000u);
  EXPECT_EQ(regions[0].device_major, 0xfeu);
  EXPECT_EQ(regions[0].device_minor, 0x11u);
  EXPECT_EQ(regions[0].inode, 1234567u);
  EXPECT_EQ(regions[0].path, "/usr/bin/x y");
  EXPECT_TRUE(regions[1].deleted && regions[1].shared && regions[1].writable);
  EXPECT_EQ(regions[1].path, "/memfd:doublemapper");
  EXPECT_FALSE(regions[2].readable);
  EXPECT_TRUE(regions[2].path.empty());
  EXPECT_EQ(regions[3].path, "[stack]");
  EXPECT_EQ(regions[4].range.end, 0xffffffffff601000u);
}

TEST(MemoryMap, HostilePaths) {
  const auto regions = parse_memory_map(
      "1000-2000 r--p 00000000 01:02 3      /a\\012b\n"
      "2000-3000 r--p 00000000 01:02 3      /c (deleted) d\n"
      "3000-4000 r--p 00000000 01:02 3      /tail\\01\n"
      "4000-5000 r--p 00000000 01:02 3      [anon:x (deleted)\n"
      "5000-6000 r--p 00000000 01:02 3      /\xff\x01 (deleted)\n"
      "6000-7000 r--p 00000000 00:00 0");
  ASSERT_EQ(regions.size(), 6u);
  EXPECT_EQ(regions[0].path, "/a\nb");
  EXPECT_EQ(regions[1].path, "/c (deleted) d");
  EXPECT_FALSE(regions[1].deleted);
  EXPECT_EQ(regions[2].path, "/tail\\01");
  EXPECT_FALSE(regions[3].deleted);
  EXPECT_TRUE(regions[4].deleted);
  EXPECT_EQ(regions[4].path, "/\xff\x01");
  EXPECT_TRUE(regions[5].path.empty());
}

TEST(MemoryMap, LeavesOutWhatIsNoMapping) {
  EXPECT_TRUE(parse_memory_map("").empty());
  EXPECT_TRUE(parse_memory_map("\n\n\nabc\n1000-\n1000-2000\n1000-2000 r-x\n").empty());
  EXPECT_TRUE(parse_memory_map("2000-1000 r--p 00000000 00:00 0\n1000-1000 r--p 00000000 00:00 0\n").empty());
  EXPECT_EQ(parse_memory_map("zzz\n1000-2000 r--p 00000000 00:00 0 \nzzz").size(), 1u);
}

TEST(MemoryMap, FindsTheRegionOfAnAddress) {
  const auto regions = parse_memory_map("1000-2000 r--p 00000000 00:00 0 \n3000-4000 r--p 00000000 00:00 0 \n");
  EXPECT_EQ(find_region(regions, 0xfff), nullptr);
  EXPECT_EQ(find_region(regions, 0x1000), &regions[0]);
  EXPECT_EQ(find_region(regions, 0x1fff), &regions[0]);
  EXPECT_EQ(find_region(regions, 0x2000), nullptr);
  EXPECT_EQ(find_region(regions, 0x3fff), &regions[1]);
  EXPECT_EQ(find_region(regions, 0x4000), nullptr);
  EXPECT_EQ(find_region({}, 0), nullptr);
}

TEST(MemoryMap, ReadsOurOwnListWithoutALineLost) {
  std::ifstream in("/proc/self/maps");
  std::ostringstream text;
  text << in.rdbuf();
  const std::string copy = text.str();
  EXPECT_EQ(parse_memory_map(copy).size(), static_cast<std::size_t>(std::count(copy.begin(), copy.end(), '\n')));
}

}  // namespace
}  // namespace mixstack::target
