#include "output/files/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <vector>

namespace mixstack::files {
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

TEST_F(OutputFileTest, NobodysNameIsTakenFromHim) {
  std::vector<OutputFile> files;
  for (int i = 0; i < 3; i++) {
    auto file = OutputFile::create_free(path() + ".a.b", ".a.b");
    ASSERT_TRUE(file);
    files.push_back(std::move(*file));
  }
  std::filesystem::create_symlink("nowhere", path() + "-2.a.b");
  std::vector<std::string> names;
  for (OutputFile& file : files) {
    auto name = file.publish();
    ASSERT_TRUE(name);
    names.push_back(*name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{path() + ".a.b", path() + "-3.a.b", path() + "-4.a.b"}));
  EXPECT_EQ(entries(), 4);
}

TEST_F(OutputFileTest, IsAsReadableAsWhatItReplaces) {
  const mode_t mask = ::umask(022);
  const auto mode_after = [&] {
    auto file = OutputFile::create(path(), true);
    EXPECT_TRUE(file);
    if (file) file->be_readable_as_usual();
    EXPECT_TRUE(file && file->publish());
    struct stat st {};
    EXPECT_EQ(::stat(path().c_str(), &st), 0);
    return st.st_mode & 07777;
  };
  EXPECT_EQ(mode_after(), 0644u);
  for (const mode_t mode : {0600u, 0640u, 0666u, 0400u}) {
    ASSERT_EQ(::chmod(path().c_str(), mode), 0);
    EXPECT_EQ(mode_after(), mode);
  }
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(path().c_str(), 65534, 65534), 0);
    ASSERT_EQ(::chmod(path().c_str(), 0664), 0);
    EXPECT_EQ(mode_after(), 0644u);
  }
  (void)::umask(mask);
}

TEST_F(OutputFileTest, AFolderThatIsExchangedMeanwhileIsNotFollowed) {
  const auto first = folder_ / "first", other = folder_ / "other";
  std::filesystem::create_directory(first);
  std::filesystem::create_directory(other);
  std::ofstream(other / "x") << "old";
  auto file = OutputFile::create((first / "x").string(), true);
  ASSERT_TRUE(file);
  std::filesystem::rename(first, folder_ / "moved");
  std::filesystem::create_directory_symlink(other, first);
  ASSERT_TRUE(file->publish());
  EXPECT_TRUE(std::filesystem::exists(folder_ / "moved" / "x"));
  EXPECT_EQ(std::filesystem::file_size(other / "x"), 3u);
}

TEST_F(OutputFileTest, DevicesAndFoldersAreNeverReplaced) {
  EXPECT_FALSE(OutputFile::create("/dev/null", true));
  EXPECT_FALSE(OutputFile::create(folder_.string(), true));
}

}  // namespace
}  // namespace mixstack::files
