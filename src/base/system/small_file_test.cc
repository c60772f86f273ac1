#include "base/system/small_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

namespace mixstack::base {
namespace {

class SmallFile : public testing::Test {
 protected:
  SmallFile() { std::filesystem::create_directories(folder_); }
  ~SmallFile() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string file(const std::string& text) const {
    const std::string path = folder_ + "/file";
    std::ofstream(path) << text;
    return path;
  }

  const std::string folder_ = testing::TempDir() + "small_file." + std::to_string(::getpid());
};

TEST_F(SmallFile, IsReadWholeOrToItsBound) {
  const std::string text(100'000, 'x');
  EXPECT_EQ(text_at(file(text), 1 << 20), text);
  const std::string cut = text_at(file(text), 20'000);
  EXPECT_GE(cut.size(), 20'000u);
  EXPECT_LT(cut.size(), 50'000u);
  EXPECT_EQ(text_at(folder_ + "/none", 100), "");
  const auto none = read_text(folder_ + "/none", 100);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().os_error, ENOENT);
}

TEST_F(SmallFile, HasAFirstLine) {
  EXPECT_EQ(line_at(file("2\n3\n")), "2");
  EXPECT_EQ(line_at(file("no newline")), "no newline");
  EXPECT_EQ(line_at(file("")), "");
}

TEST_F(SmallFile, MayBeALink) {
  std::filesystem::create_symlink("pipe:[4711]", folder_ + "/link");
  EXPECT_EQ(link_at(folder_ + "/link"), "pipe:[4711]");
  EXPECT_EQ(link_at(file("text")), "");
}

}  // namespace
}  // namespace mixstack::base
