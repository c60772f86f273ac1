#include "base/system/trusted_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

namespace mixstack::base {
namespace {

namespace fs = std::filesystem;
constexpr uid_t kStranger = 65534;

/// A tree in a folder that only we can write to: below /tmp every check fails.
class TrustedFiles : public testing::Test {
 protected:
  void SetUp() override {
    top_ = fs::current_path().string() + "/mixstack-trust-XXXXXX";
    ASSERT_NE(::mkdtemp(top_.data()), nullptr);
    folder(top_, 0755);
    folder(top_ + "/bin", 0755);
    program(top_ + "/bin/tool");
    if (const auto good = open_trusted_file(top_ + "/bin/tool"); !good)
      GTEST_SKIP() << "needs a build folder that only its user can write to: " << good.error().text;
  }
  void TearDown() override { fs::remove_all(top_); }

  static void folder(const std::string& path, mode_t mode) {
    ::mkdir(path.c_str(), mode);
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
  }
  static void program(const std::string& path) {
    const ScopedFd fd(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0755));
    ASSERT_TRUE(fd);
    ASSERT_EQ(::fchmod(fd.get(), 0755), 0);
  }
  /// The words of a refusal, or nothing.
  static std::string refusal(const std::string& path) {
    const auto file = open_trusted_file(path);
    if (file) return {};
    EXPECT_EQ(file.error().subject, path);
    EXPECT_EQ(file.error().error.code, ErrorCode::permission_denied) << file.error().text;
    return file.error().text;
  }
  static bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

  std::string top_;
};

TEST_F(TrustedFiles, OwnAndRootsFilesAreRun) {
  const auto own = open_trusted_file(top_ + "/bin/tool");
  ASSERT_TRUE(own.has_value());
  EXPECT_EQ(own->path, top_ + "/bin/tool");
  EXPECT_NE(::fcntl(own->fd.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_TRUE(open_trusted_file(top_ + "/bin/../bin/./tool").has_value());
  const auto of_root = open_trusted_file("/bin/sh");
  EXPECT_TRUE(of_root.has_value()) << of_root.error().text;
}

TEST_F(TrustedFiles, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(open_trusted_file(top_ + "/bin/none").error().error.code, ErrorCode::not_found);
  EXPECT_EQ(open_trusted_file(top_ + "/none/tool").error().error.code, ErrorCode::not_found);
  EXPECT_EQ(open_trusted_file(top_ + "/bin/tool/x").error().error.code, ErrorCode::not_found);
  EXPECT_EQ(open_trusted_file("bin/tool").error().error.code, ErrorCode::invalid_argument);
}

TEST_F(TrustedFiles, OthersMayNotWriteTheFileOrAFolderOnItsWay) {
  const std::string tool = top_ + "/bin/tool";
  ::chmod(tool.c_str(), 0757);
  EXPECT_TRUE(has(refusal(tool), "it can be written by everybody (mode 0757"));
  ::chmod(tool.c_str(), 0775);
  EXPECT_TRUE(has(refusal(tool), "it can be written by its group"));
  ::chmod(tool.c_str(), 0755);
  ::chmod(top_.c_str(), 01777);
  EXPECT_TRUE(has(refusal(tool), top_ + " can be written by everybody (mode 1777")) << "sticky is not enough";
  ::chmod(top_.c_str(), 0775);
  EXPECT_TRUE(has(refusal(tool), top_ + " can be written by its group"));
  ::chmod(top_.c_str(), 0755);
  EXPECT_EQ(refusal(tool), "");
}

TEST_F(TrustedFiles, FoldersOfLinksCount) {
  folder(top_ + "/open", 01777);
  folder(top_ + "/closed", 0755);
  ASSERT_EQ(::symlink("../bin/tool", (top_ + "/closed/relative").c_str()), 0);
  ASSERT_EQ(::symlink((top_ + "/bin").c_str(), (top_ + "/closed/absolute").c_str()), 0);
  EXPECT_EQ(refusal(top_ + "/closed/relative"), "");
  EXPECT_EQ(refusal(top_ + "/closed/absolute/tool"), "");
  // A link in an open folder to a good file, and a link in a good folder through an open one.
  ASSERT_EQ(::symlink("../bin/tool", (top_ + "/open/link").c_str()), 0);
  EXPECT_TRUE(has(refusal(top_ + "/open/link"), top_ + "/open can be written by everybody"));
  ASSERT_EQ(::symlink("../open/link", (top_ + "/closed/through").c_str()), 0);
  EXPECT_TRUE(has(refusal(top_ + "/closed/through"), top_ + "/open can be written by everybody"));
  ASSERT_EQ(::symlink("loop", (top_ + "/closed/loop").c_str()), 0);
  EXPECT_EQ(open_trusted_file(top_ + "/closed/loop").error().error.os_error, ELOOP);
}

TEST_F(TrustedFiles, OnlyExecutableRegularFilesAreRun) {
  const std::string tool = top_ + "/bin/tool";
  ::chmod(tool.c_str(), 0644);
  EXPECT_TRUE(has(refusal(tool), "not executable"));
  EXPECT_EQ(open_trusted_file(top_ + "/bin").error().error.code, ErrorCode::unsupported);
  ASSERT_EQ(::mkfifo((top_ + "/bin/fifo").c_str(), 0755), 0);
  EXPECT_EQ(open_trusted_file(top_ + "/bin/fifo").error().error.code, ErrorCode::unsupported);
}

TEST_F(TrustedFiles, OfStrangersNothingIsRun) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give files away";
  const std::string tool = top_ + "/bin/tool";
  ASSERT_EQ(::chown(tool.c_str(), kStranger, kStranger), 0);
  EXPECT_TRUE(has(refusal(tool), "it belongs to uid 65534"));
  ASSERT_EQ(::chown(tool.c_str(), 0, 0), 0);
  ASSERT_EQ(::chown((top_ + "/bin").c_str(), kStranger, kStranger), 0);
  EXPECT_TRUE(has(refusal(tool), top_ + "/bin belongs to uid 65534"));
  EXPECT_TRUE(open_trusted_file(tool, ProgramTrust{kStranger}).has_value()) << "his own, for himself";
  ASSERT_EQ(::chown((top_ + "/bin").c_str(), 0, 0), 0);
  ASSERT_EQ(::symlink("tool", (top_ + "/bin/link").c_str()), 0);
  ASSERT_EQ(::lchown((top_ + "/bin/link").c_str(), kStranger, kStranger), 0);
  EXPECT_TRUE(has(refusal(top_ + "/bin/link"), "it belongs to uid 65534"));
}

}  // namespace
}  // namespace mixstack::base
