#include "pack/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

namespace mixstack::pack {
namespace {

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() {
    std::string name = (std::filesystem::temp_directory_path() / "mixstack-pack-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~OutputFileTest() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path() const { return (folder_ / "pack").string(); }
  [[nodiscard]] std::string content() const {
    std::ifstream in(path());
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] long entries() const {
    return std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator());
  }
  std::filesystem::path folder_;
};

TEST_F(OutputFileTest, IsThereWhenItIsWholeAndForItsOwnerOnly) {
  {
    auto file = OutputFile::create(path(), false);
    ASSERT_TRUE(file);
    ASSERT_EQ(::write(file->fd(), "abc", 3), 3);
    EXPECT_FALSE(std::filesystem::exists(path()));
    ASSERT_TRUE(file->publish());
  }
  EXPECT_EQ(content(), "abc");
  EXPECT_EQ(entries(), 1);
  struct stat st {};
  ASSERT_EQ(::stat(path().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
}

TEST_F(OutputFileTest, NothingIsLeftOfOneThatWasGivenUp) {
  { ASSERT_TRUE(OutputFile::create(path(), false)); }
  EXPECT_EQ(entries(), 0);
}

TEST_F(OutputFileTest, WhatIsThereStaysUnlessItMayBeReplaced) {
  std::ofstream(path()) << "old";
  const auto refused = OutputFile::create(path(), false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().os_error, EEXIST);
  auto file = OutputFile::create(path(), true);
  ASSERT_TRUE(file);
  ASSERT_EQ(::write(file->fd(), "new", 3), 3);
  EXPECT_EQ(content(), "old");
  ASSERT_TRUE(file->publish());
  EXPECT_EQ(content(), "new");
  EXPECT_EQ(entries(), 1);
}

TEST_F(OutputFileTest, OneThatCameMeanwhileStays) {
  auto file = OutputFile::create(path(), false);
  ASSERT_TRUE(file);
  std::ofstream(path()) << "other";
  const auto published = file->publish();
  ASSERT_FALSE(published);
  EXPECT_EQ(published.error().os_error, EEXIST);
  EXPECT_EQ(content(), "other");
}

TEST_F(OutputFileTest, DevicesAndFoldersAreNeverReplaced) {
  EXPECT_FALSE(OutputFile::create("/dev/null", true));
  EXPECT_FALSE(OutputFile::create(folder_.string(), true));
}

}  // namespace
}  // namespace mixstack::pack
