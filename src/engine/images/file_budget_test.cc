#include "engine/images/file_budget.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

#include "engine/images/file_bytes.h"

namespace mixstack::images {
namespace {

std::shared_ptr<const FileBytes> file_of(std::size_t size) { return buffer_file_bytes(std::vector<std::byte>(size)); }

TEST(FileBudget, CountsEachPartOfAFileOnce) {
  const auto budget = std::make_shared<FileBudget>(100'000);
  const auto file = within_budget(file_of(80'000), budget);
  EXPECT_EQ(file->size(), 80'000u);
  for (int i = 0; i < 10; i++) EXPECT_EQ(file->range(0, 60'000).size(), 60'000u);
  EXPECT_EQ(file->bytes().size(), 80'000u);
  EXPECT_FALSE(budget->is_spent());
}

TEST(FileBudget, IsOneForAllFilesAndSaysWhenItIsSpent) {
  const auto budget = std::make_shared<FileBudget>(100'000);
  const auto one = within_budget(file_of(80'000), budget), two = within_budget(file_of(80'000), budget);
  EXPECT_EQ(one->bytes().size(), 80'000u);
  EXPECT_TRUE(two->bytes().empty());
  EXPECT_TRUE(budget->is_spent());
  EXPECT_EQ(two->range(0, 100).size(), 100u);  // what is left is still given
}

TEST(FileBudget, IsGivenBackWithTheFile) {
  const auto budget = std::make_shared<FileBudget>(100'000);
  for (int i = 0; i < 5; i++) EXPECT_EQ(within_budget(file_of(80'000), budget)->bytes().size(), 80'000u);
}

std::size_t resident_kilobytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * 4;
}

TEST(FileBytes, HolesOfAFileTakeNoMemory) {
  const int fd = ::memfd_create("sparse", MFD_CLOEXEC);
  const off_t size = 256 << 20;
  ASSERT_EQ(::ftruncate(fd, size), 0);
  ASSERT_EQ(::pwrite(fd, "end", 3, size - 3), 3);
  const auto file = file_bytes_from_fd(base::ScopedFd(fd));
  ASSERT_TRUE(file);
  const std::size_t before = resident_kilobytes();
  const auto hole = (*file)->range(0, 200 << 20);
  ASSERT_EQ(hole.size(), std::size_t{200} << 20);
  EXPECT_EQ(hole[100 << 20], std::byte{0});
  EXPECT_LT(resident_kilobytes(), before + 20'000);
  const auto end = (*file)->range(static_cast<std::uint64_t>(size) - 3, 3);
  EXPECT_EQ(std::memcmp(end.data(), "end", 3), 0);
}

}  // namespace
}  // namespace mixstack::images
