#include "output/files/rewritten_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace mixstack::files {
namespace {

TEST(RewrittenFile, IsNewWhenItWasTheSameTwice) {
  std::string folder = (std::filesystem::temp_directory_path() / "mixstack-rewritten-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/file";
  std::ofstream(path) << "one";
  RewrittenFile file(path);
  EXPECT_FALSE(file.is_new());
  std::ofstream(path) << "three";
  EXPECT_FALSE(file.is_new()) << "it may be written still";
  std::ofstream(path) << "seventeen";
  EXPECT_FALSE(file.is_new());
  EXPECT_TRUE(file.is_new());
  EXPECT_FALSE(file.is_new()) << "that was reported";
  std::filesystem::remove(path);
  EXPECT_FALSE(file.is_new());
  EXPECT_FALSE(file.is_new()) << "no file is no new one";
  EXPECT_FALSE(RewrittenFile("-").is_new());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace mixstack::files
