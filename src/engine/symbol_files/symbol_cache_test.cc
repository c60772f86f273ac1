#include "engine/symbol_files/symbol_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace mixstack::symbol_files {
namespace {

namespace fs = std::filesystem;

class SymbolCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/mixstack-cache-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    root_ = name;
    folder_ = root_ / "a" / "symbols";
  }
  void TearDown() override { fs::remove_all(root_); }

  static std::span<const std::byte> bytes(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
  }
  static std::string text(const Result<std::shared_ptr<const FileBytes>>& file) {
    if (!file) return "(none)";
    const auto all = (*file)->bytes();
    return {reinterpret_cast<const char*>(all.data()), all.size()};
  }
  static void add(SymbolCache& cache, const std::string& name, const std::string& content) {
    auto staged = cache.stage();
    ASSERT_TRUE(staged);
    ASSERT_TRUE(staged->write(bytes(content)));
    EXPECT_TRUE(cache.keep(*staged, name));
  }
  [[nodiscard]] std::size_t files() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_)) count++;
    return count;
  }

  fs::path root_, folder_;
};

TEST_F(SymbolCacheTest, AFileIsThereWholeOrNotAtAll) {
  SymbolCache cache(folder_, 1 << 20);
  EXPECT_EQ(text(cache.find("x")), "(none)");
  EXPECT_FALSE(fs::exists(folder_)) << "made by looking";
  auto staged = cache.stage();
  ASSERT_TRUE(staged && staged->write(bytes("half ")));
  EXPECT_EQ(text(cache.find("x")), "(none)");
  ASSERT_TRUE(staged->write(bytes("whole")));
  EXPECT_EQ(text(staged->bytes()), "half whole");
  EXPECT_TRUE(cache.keep(*staged, "x"));
  EXPECT_EQ(text(SymbolCache(folder_, 1).find("x")), "half whole");
  cache.remove("x");
  EXPECT_EQ(text(cache.find("x")), "(none)");
  auto dropped = cache.stage();
  ASSERT_TRUE(dropped);
  cache.drop(*dropped);
  EXPECT_EQ(files(), 0u);
}

TEST_F(SymbolCacheTest, TwoAtOnceDoNotMixTheirFiles) {
  SymbolCache one(folder_, 1 << 20), other(folder_, 1 << 20);
  auto of_one = one.stage();
  ASSERT_TRUE(of_one && of_one->write(bytes("one")));
  auto of_other = other.stage();
  ASSERT_TRUE(of_other && of_other->write(bytes("half")));
  EXPECT_TRUE(one.keep(*of_one, "a"));
  EXPECT_EQ(text(one.find("a")), "one");
  ASSERT_TRUE(of_other->write(bytes(" whole")));
  EXPECT_TRUE(other.keep(*of_other, "b"));
  EXPECT_EQ(text(one.find("b")), "half whole");
}

TEST_F(SymbolCacheTest, WhatWasUsedLongestAgoGoes) {
  SymbolCache cache(folder_, 3 * 8192);
  for (const char* name : {"a0.debug", "b0.pdb", "c0.elf"}) {
    add(cache, name, std::string(8192, 'x'));
    const timespec times[2] = {{1000 + name[0], 0}, {1000 + name[0], 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (folder_ / name).c_str(), times, 0), 0);
  }
  EXPECT_TRUE(cache.find("a0.debug"));  // which makes it the one that was used last
  add(cache, "d0.debug", std::string(8192, 'x'));
  EXPECT_TRUE(cache.find("a0.debug"));
  EXPECT_FALSE(cache.find("b0.pdb"));
  EXPECT_TRUE(cache.find("c0.elf"));
  EXPECT_TRUE(cache.find("d0.debug"));
}

TEST_F(SymbolCacheTest, FilesOfOthersInItStay) {
  SymbolCache cache(folder_, 8192);
  add(cache, "a0.debug", "x");
  for (const char* name : {"dump.bin", "notes", "core.1234", "zz.debug", ".debug"})
    std::ofstream(folder_ / name) << std::string(16384, 'x');
  add(cache, "b0.debug", std::string(8192, 'x'));
  for (const char* name : {"dump.bin", "notes", "core.1234", "zz.debug", ".debug"})
    EXPECT_TRUE(fs::exists(folder_ / name)) << name;
  EXPECT_FALSE(cache.find("a0.debug"));
}

TEST_F(SymbolCacheTest, ALinkOfSomebodyElseOnTheWayIsNotFollowed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a link away";
  const fs::path other = root_ / "other", link = root_ / "link";
  fs::create_directories(other / "symbols");
  fs::create_symlink(other, link);
  EXPECT_TRUE(SymbolCache(link / "symbols", 1 << 20).stage()->name().starts_with(".part-"))
      << "our own link may lead there";
  ASSERT_EQ(::lchown(link.c_str(), 65534, 65534), 0);
  EXPECT_EQ(SymbolCache(link / "symbols", 1 << 20).stage()->name(), "") << "nothing of the cache is used";
}

TEST_F(SymbolCacheTest, HalvesThatSomebodyLeftGoInTheEnd) {
  SymbolCache cache(folder_, 1 << 20);
  add(cache, "a", "x");
  for (const char* name : {".part-1-1", ".part-1-2"}) std::ofstream(folder_ / name) << "half";
  const timespec times[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (folder_ / ".part-1-1").c_str(), times, 0), 0);
  add(cache, "b", "x");
  EXPECT_FALSE(fs::exists(folder_ / ".part-1-1"));
  EXPECT_TRUE(fs::exists(folder_ / ".part-1-2")) << "somebody may be at it";
}

TEST_F(SymbolCacheTest, AFolderThatOthersCanWriteToIsNotUsed) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "x") << "prepared";
  fs::permissions(folder_, fs::perms{0777});
  SymbolCache cache(folder_, 1 << 20);
  EXPECT_FALSE(cache.find("x"));
  EXPECT_EQ(cache.refused().error.code, ErrorCode::permission_denied);
  auto staged = cache.stage();  // in memory
  ASSERT_TRUE(staged && staged->write(bytes("y")));
  EXPECT_EQ(text(staged->bytes()), "y");
  EXPECT_FALSE(cache.keep(*staged, "y"));
  EXPECT_FALSE(fs::exists(folder_ / "y"));
}

TEST_F(SymbolCacheTest, LinksAreNotFollowed) {
  SymbolCache cache(folder_, 1 << 20);
  add(cache, "x", "right");
  std::ofstream(root_ / "secret") << "secret";
  fs::create_symlink(root_ / "secret", folder_ / "y");
  EXPECT_FALSE(cache.find("y"));
  fs::create_directory_symlink(folder_, root_ / "link");
  SymbolCache by_link(root_ / "link", 1 << 20);
  EXPECT_FALSE(by_link.find("x"));
  EXPECT_NE(by_link.refused().error.code, ErrorCode::none);
}

TEST_F(SymbolCacheTest, WithoutAFolderNothingIsKept) {
  SymbolCache cache("", 1 << 20);
  EXPECT_FALSE(cache.find("x"));
  auto staged = cache.stage();
  ASSERT_TRUE(staged && staged->write(bytes("y")));
  EXPECT_EQ(text(staged->bytes()), "y");
  EXPECT_FALSE(cache.keep(*staged, "x"));
  EXPECT_EQ(cache.refused().error.code, ErrorCode::none);
}

}  // namespace
}  // namespace mixstack::symbol_files
