#include "base/system/private_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace mixstack::base {
namespace {

namespace fs = std::filesystem;

class PrivateFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/mixstack-folder-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }
  fs::path root_;
};

TEST_F(PrivateFolderTest, IsMadeForItsUserAlone) {
  const fs::path folder = root_ / "a" / "b";
  const auto absent = open_private_folder(folder, false, "box");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().error.os_error, ENOENT);
  ASSERT_TRUE(open_private_folder(folder, true, "box"));
  struct stat st {};
  ASSERT_EQ(::stat(folder.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0700u);
  EXPECT_TRUE(open_private_folder(folder, false, "box"));
}

TEST_F(PrivateFolderTest, OthersMayNotWriteToItNorToTheWay) {
  const fs::path folder = root_ / "a" / "b";
  ASSERT_TRUE(open_private_folder(folder, true, "box"));
  for (const fs::path& open : {folder, folder.parent_path()}) {
    ASSERT_EQ(::chmod(open.c_str(), 0777), 0);
    const auto refused = open_private_folder(folder, true, "box");
    ASSERT_FALSE(refused) << open;
    EXPECT_EQ(refused.error().error.code, ErrorCode::permission_denied);
    EXPECT_EQ(refused.error().text.find("not used as a box"), 0u);
    ASSERT_EQ(::chmod(open.c_str(), 0700), 0);
  }
}

TEST_F(PrivateFolderTest, IsNoLink) {
  ASSERT_TRUE(open_private_folder(root_ / "real", true, "box"));
  fs::create_directory_symlink(root_ / "real", root_ / "link");
  const auto refused = open_private_folder(root_ / "link", true, "box");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text.find("symbolic link"), std::string::npos) << refused.error().text;
  EXPECT_NE(refused.error().text.find("give the folder itself"), std::string::npos);
}

}  // namespace
}  // namespace mixstack::base
