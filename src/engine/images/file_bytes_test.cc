#include "engine/images/file_bytes.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "engine/images/elf_image.h"

namespace mixstack::images {
namespace {

class FileBytesTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/mixstack-file-XXXXXX";
    const int fd = ::mkstemp(name);
    ASSERT_GE(fd, 0);
    ::close(fd);
    path_ = name;
  }
  void TearDown() override { ::unlink(path_.c_str()); }
  void write(std::size_t size, char letter) const {
    std::ofstream(path_, std::ios::trunc) << std::string(size, letter);
  }

  std::string path_;
};

TEST_F(FileBytesTest, ReadsOnlyWhatIsAskedFor) {
  write(1 << 20, 'a');
  const auto file = *open_file_bytes(path_);
  EXPECT_EQ(file->size(), 1u << 20);
  EXPECT_EQ(file->range(5, 10).size(), 10u);
  EXPECT_TRUE(file->range((1 << 20) - 5, 6).empty());
  EXPECT_TRUE(file->range(~std::uint64_t{0}, 2).empty());
  EXPECT_TRUE(file->range(2, ~std::uint64_t{0}).empty());
  EXPECT_EQ(file->bytes().size(), 1u << 20);
}

TEST_F(FileBytesTest, AFileTruncatedUnderUsIsAnErrorNotASignal) {
  write(1 << 20, 'a');
  const auto file = *open_file_bytes(path_);
  const auto first = file->range(0, 100);
  ASSERT_EQ(::truncate(path_.c_str(), 10), 0);
  EXPECT_EQ(first[99], std::byte{'a'});  // what was handed out stays
  EXPECT_FALSE(file->range(0, 100).empty());
  EXPECT_TRUE(file->range(1 << 19, 100).empty());  // what is gone is gone
  EXPECT_TRUE(file->bytes().empty());
}

TEST_F(FileBytesTest, BytesHandedOutDoNotChangeWithTheFile) {
  write(100, 'a');
  const auto file = *open_file_bytes(path_);
  const auto bytes = file->bytes();
  write(100, 'b');
  EXPECT_EQ(bytes[50], std::byte{'a'});
  EXPECT_EQ(file->range(50, 1)[0], std::byte{'a'});
}

TEST_F(FileBytesTest, ManyThreadsReadOneFile) {
  write(4 << 20, 'x');
  const auto file = *open_file_bytes(path_);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; t++)
    threads.emplace_back([&, t] {
      for (std::uint64_t i = t; i < 200; i++) {
        const auto r = file->range(i * 20000, 20000);
        ASSERT_EQ(r.size(), 20000u);
        ASSERT_EQ(r[19999], std::byte{'x'});
      }
    });
  for (auto& t : threads) t.join();
}

TEST_F(FileBytesTest, RefusesWhatIsNoRegularFile) {
  EXPECT_EQ(open_file_bytes("/tmp").error().code, ErrorCode::unsupported);
  EXPECT_EQ(open_file_bytes("/dev/zero").error().code, ErrorCode::unsupported);
  EXPECT_EQ(open_file_bytes("/no/such/file").error().code, ErrorCode::not_found);
  ::unlink(path_.c_str());
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(open_file_bytes(path_).error().code, ErrorCode::unsupported);  // and does not wait for a writer
}

TEST_F(FileBytesTest, LimitsHugeFiles) {
  ASSERT_EQ(::truncate(path_.c_str(), off_t{1} << 40), 0);  // sparse
  EXPECT_EQ(open_file_bytes(path_).error().code, ErrorCode::limit_exceeded);
  ASSERT_EQ(::truncate(path_.c_str(), off_t{8} << 30), 0);
  const auto file = open_file_bytes(path_, {.reserve = std::uint64_t{16} << 30, .load = 1 << 20});
  ASSERT_TRUE(file);
  EXPECT_TRUE((*file)->bytes().empty());
  EXPECT_EQ((*file)->range(std::uint64_t{7} << 30, 100).size(), 100u);
}

TEST_F(FileBytesTest, EmptyFile) {
  const auto file = open_file_bytes(path_);
  ASSERT_TRUE(file);
  EXPECT_EQ((*file)->size(), 0u);
  EXPECT_FALSE(ElfImage::from_file(*file));
}

}  // namespace
}  // namespace mixstack::images
