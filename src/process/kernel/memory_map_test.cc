#include "process/kernel/memory_map.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "base/system/scoped_fd.h"

namespace mixstack::process {
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

TEST(MemoryMap, KnowsWhereCodeMayHaveBeenMade) {
  const auto regions = parse_memory_map(
      "1000-2000 r-xp 00000000 00:00 0 \n"
      "2000-3000 rw-p 00000000 00:00 0 \n"
      "3000-4000 r-xs 00000000 00:01 42                         /memfd:doublemapper (deleted)\n"
      "4000-5000 r-xp 00000000 08:01 43                         /usr/lib/libx.so\n"
      "5000-6000 r-xp 00000000 08:01 44                         /usr/lib/liby.so (deleted)\n"
      "6000-7000 r-xp 00000000 00:00 0                          [anon:jit]\n"
      "7000-8000 r-xp 00000000 00:00 0                          [vdso]\n"
      "8000-9000 r-xp 00000000 00:00 0                          [heap]\n");
  std::string may;
  for (const Region& r : regions) may += may_hold_generated_code(r) ? 'y' : 'n';
  EXPECT_EQ(may, "ynynyyny");
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

int file_of(const std::string& text) {
  const int fd = ::memfd_create("maps", MFD_CLOEXEC);
  if (::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) return -1;
  ::lseek(fd, 0, SEEK_SET);
  return fd;
}

std::string long_map(std::size_t lines, std::size_t path) {
  std::string text;
  for (std::size_t i = 0; i < lines; i++) {
    char head[80];
    std::snprintf(head, sizeof head, "%zx000-%zx000 r--p 00000000 00:01 7   /", i + 1, i + 2);
    text += head + std::string(path, static_cast<char>('a' + i % 26)) + "\n";
  }
  return text;
}

TEST(MemoryMap, ReadPieceByPieceItIsTheSame) {
  for (const std::size_t path : {1u, 70u, 4000u}) {
    const std::string text = long_map(1000, path);
    const base::ScopedFd fd(file_of(text));
    const auto regions = read_memory_map(fd.get());
    const auto whole = parse_memory_map(text);
    ASSERT_TRUE(regions);
    ASSERT_EQ(regions->size(), whole.size());
    for (std::size_t i = 0; i < whole.size(); i++) {
      EXPECT_EQ((*regions)[i].range, whole[i].range);
      EXPECT_EQ((*regions)[i].path, whole[i].path);
    }
  }
  const std::string text = "1000-2000 r--p 00000000 00:00 0 \n3000-4000 r--p 00000000 00:00 0";
  const base::ScopedFd unended(file_of(text));
  EXPECT_EQ(read_memory_map(unended.get())->size(), parse_memory_map(text).size());
}

TEST(MemoryMap, ReadPieceByPieceItIsBounded) {
  const std::string text = long_map(1000, 70);
  const auto read = [](const std::string& maps, const MapLimits& limits) {
    const base::ScopedFd fd(file_of(maps));
    const auto regions = read_memory_map(fd.get(), limits);
    return regions ? ErrorCode::none : regions.error().code;
  };
  EXPECT_EQ(read(text, {}), ErrorCode::none);
  EXPECT_EQ(read(text, {.most_regions = 500}), ErrorCode::limit_exceeded);
  EXPECT_EQ(read(text, {.most_text = 50'000}), ErrorCode::limit_exceeded);
  EXPECT_EQ(read(text, {.most_paths = 50'000}), ErrorCode::limit_exceeded);
  EXPECT_EQ(read(std::string(1 << 20, 'x'), {}), ErrorCode::limit_exceeded);  // a line without an end
  EXPECT_EQ(read("", {}), ErrorCode::none);
}

}  // namespace
}  // namespace mixstack::process
