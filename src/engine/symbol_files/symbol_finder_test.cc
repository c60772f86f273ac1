#include "engine/symbol_files/symbol_finder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "engine/images/file_bytes.h"

namespace mixstack::symbol_files {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// With programs in place of mixstack-fetch: what the right one does, the live tests see.
class SymbolFinderTest : public testing::Test {
 protected:
  void SetUp() override {
    // Below the working directory: in /tmp anybody could have put the program there.
    std::string name = (fs::current_path() / "finder-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }

  SymbolFinderOptions options(const std::string& path, const std::string& script = "exit 1") {
    std::ofstream(root_ / "fetch") << "#!/bin/bash\n" << script << "\n";
    fs::permissions(root_ / "fetch", fs::perms{0755});
    SymbolFinderOptions options;
    options.path = parse_symbol_path(path, "");
    options.cache = root_ / "cache";
    options.fetcher = root_ / "fetch";
    return options;
  }
  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  static SymbolKey key() {
    images::BuildId id;
    id.size = 4;
    id.bytes = {0xde, 0xad, 0xbe, 0xef};
    return SymbolKey::debug_file(id, "/lib/x.so", "");
  }
  /// Right is what says so.
  static std::string proof(const std::shared_ptr<const FileBytes>& file) {
    const auto bytes = file->bytes();
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return text == "right" ? "" : "it is " + text;
  }
  static std::string said(const SymbolFinder& finder) {
    std::string all;
    for (const Diagnosis& d : finder.diagnoses()) all += d.subject + ": " + d.text + "\n";
    return all;
  }
  /// The output of a fetcher that found `text`: a piece, and the end.
  static std::string found(const std::string& text) {
    return "IFS= read -r -n 5 -u 3 _; printf '\\0\\0\\0\\0\\" + octal(text.size()) + "\\0\\0\\0" + text +
           "\\1\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0' >&3; exec sleep 100";
  }
  static std::string octal(std::size_t value) {
    return {static_cast<char>('0' + value / 64), static_cast<char>('0' + value / 8 % 8),
            static_cast<char>('0' + value % 8)};
  }

  fs::path root_;
};

TEST_F(SymbolFinderTest, FoldersInTheirOrder) {
  write("a/x.so.debug", "wrong");
  write("b/.build-id/de/adbeef.debug", "right");
  SymbolFinder finder(options((root_ / "a").string() + ";" + (root_ / "b").string()));
  const auto file = finder.find(key(), proof);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->where, root_ / "b/.build-id/de/adbeef.debug");
  EXPECT_EQ(said(finder), "") << "a file of another build under a plain name is nothing strange";
  EXPECT_FALSE(fs::exists(root_ / "cache"));
}

TEST_F(SymbolFinderTest, AWrongFileUnderTheRightIdIsSaid) {
  write("b/.build-id/de/adbeef.debug", "wrong");
  SymbolFinder finder(options((root_ / "b").string()));
  EXPECT_EQ(finder.find(key(), proof).error().code, ErrorCode::mismatch);
  EXPECT_FALSE(finder.find(key(), proof));
  EXPECT_EQ(said(finder), (root_ / "b/.build-id/de/adbeef.debug").string() + ": it is wrong\n");
}

TEST_F(SymbolFinderTest, WhatAServerSendsIsProvedAndKept) {
  {
    SymbolFinder finder(options("http://server", found("right")));
    const auto file = finder.find(key(), proof);
    ASSERT_TRUE(file) << said(finder);
    EXPECT_EQ(file->where, root_ / "cache/deadbeef.debug");
  }
  SymbolFinder finder(options(""));
  EXPECT_TRUE(finder.find(key(), proof)) << "out of the cache";
}

TEST_F(SymbolFinderTest, WhatIsNotProvedIsNotKept) {
  SymbolFinder finder(options("srv*http://server", found("wrong")));
  EXPECT_EQ(finder.find(key(), proof).error().code, ErrorCode::mismatch);
  EXPECT_EQ(said(finder),
            "http://server/_.debug/elf-buildid-sym-deadbeef00000000000000000000000000000000/_.debug: not "
            "used: it is wrong\n");
  EXPECT_TRUE(fs::is_empty(root_ / "cache"));
}

TEST_F(SymbolFinderTest, AFetcherThatTalksNonsenseIsEnded) {
  SymbolFinder finder(options("http://server", "head -c 100000 /dev/zero | tr '\\0' x >&3; exec sleep 100"));
  EXPECT_FALSE(finder.find(key(), proof));
  EXPECT_EQ(said(finder), "http://server: mixstack-fetch broke over it; it is not asked again\n");
}

TEST_F(SymbolFinderTest, AFetcherThatEndsIsNoReasonToWait) {
  SymbolFinder finder(options("http://server", "exit 3"));
  EXPECT_FALSE(finder.find(key(), proof));
  EXPECT_NE(said(finder).find("broke over it"), std::string::npos);
}

TEST_F(SymbolFinderTest, ASilentFetcherHasItsTime) {
  SymbolFinderOptions o = options("http://server;http://other", "exec sleep 100");
  o.time_for_all = 200ms;
  SymbolFinder finder(o);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(finder.find(key(), proof));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
  EXPECT_NE(said(finder).find("there was no time left for 1 file"), std::string::npos) << said(finder);
}

TEST_F(SymbolFinderTest, MoreThanIsTakenIsCut) {
  // Pieces of 65536 bytes without end.
  SymbolFinderOptions o =
      options("http://server", "while printf '\\0\\0\\0\\0\\0\\0\\1\\0'; do head -c 65536 /dev/zero; done >&3");
  o.limits.bytes = 1 << 20;
  SymbolFinder finder(o);
  EXPECT_FALSE(finder.find(key(), proof));
  EXPECT_NE(said(finder).find("larger than what is taken"), std::string::npos) << said(finder);
  EXPECT_TRUE(fs::is_empty(root_ / "cache"));
}

TEST_F(SymbolFinderTest, AFetcherThatOthersCouldHaveWrittenIsNotRun) {
  const SymbolFinderOptions o = options("http://server", "touch " + (root_ / "ran").string());
  fs::permissions(root_, fs::perms{01777});
  SymbolFinder finder(o);
  EXPECT_FALSE(finder.find(key(), proof));
  EXPECT_NE(said(finder).find("can be written by everybody"), std::string::npos) << said(finder);
  EXPECT_FALSE(fs::exists(root_ / "ran"));
}

TEST_F(SymbolFinderTest, WithoutAServerOrTimeNothingIsRun) {
  const std::string touch = "touch " + (root_ / "ran").string();
  SymbolFinder none(options((root_ / "a").string(), touch));
  EXPECT_FALSE(none.uses_network());
  EXPECT_FALSE(none.find(key(), proof));
  SymbolFinderOptions o = options("http://server", touch);
  o.time_for_all = 0ms;
  SymbolFinder no_time(o);
  EXPECT_FALSE(no_time.uses_network());
  EXPECT_FALSE(no_time.find(key(), proof));
  EXPECT_EQ(said(none) + said(no_time), "");
  EXPECT_FALSE(fs::exists(root_ / "ran"));
}

}  // namespace
}  // namespace mixstack::symbol_files
