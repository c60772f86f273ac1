#include "target/debuginfod.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "target/core/core_samples.h"

namespace mixstack::target {
namespace {

using namespace std::chrono_literals;

class DebuginfodTest : public testing::Test {
 protected:
  /// A program in place of debuginfod-find.
  std::string program(const std::string& lines) {
    const std::string path = folder_.file("debuginfod-find");
    std::ofstream(path) << "#!/bin/sh\n" << lines << "\n";
    std::filesystem::permissions(path, std::filesystem::perms{0755});
    return path;
  }
  static object::BuildId id() {
    object::BuildId id;
    id.size = 4;
    id.bytes = {0xde, 0xad, 0xbe, 0xef};
    return id;
  }
  test::TemporaryFolder folder_{std::filesystem::current_path()};
};

TEST_F(DebuginfodTest, AnswersWhatTheProgramPrints) {
  Debuginfod debuginfod(program("echo /cache/$1-$2"), 30s);
  EXPECT_EQ(debuginfod.find(Debuginfod::Kind::executable, id()), "/cache/executable-deadbeef");
  EXPECT_EQ(debuginfod.find(Debuginfod::Kind::debuginfo, id()), "/cache/debuginfo-deadbeef");
  EXPECT_EQ(debuginfod.find(Debuginfod::Kind::debuginfo, {}), "");
  EXPECT_TRUE(debuginfod.diagnoses().empty());
  EXPECT_EQ(Debuginfod("", 30s).find(Debuginfod::Kind::debuginfo, id()), "");
}

TEST_F(DebuginfodTest, AFailureIsNoFile) {
  Debuginfod debuginfod(program("echo /cache/x; exit 1"), 30s);
  EXPECT_EQ(debuginfod.find(Debuginfod::Kind::debuginfo, id()), "");
  EXPECT_TRUE(debuginfod.diagnoses().empty());
}

TEST_F(DebuginfodTest, AllQuestionsTogetherHaveTheirTime) {
  Debuginfod debuginfod(program("echo asked >> " + folder_.file("asked") + "; exec sleep 100"), 300ms);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 3; i++) EXPECT_EQ(debuginfod.find(Debuginfod::Kind::debuginfo, id()), "");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
  ASSERT_EQ(debuginfod.diagnoses().size(), 1u);
  EXPECT_EQ(debuginfod.diagnoses()[0].text, "they did not answer in time: 3 questions were given up");
  EXPECT_EQ(std::filesystem::file_size(folder_.file("asked")), 6u) << "asked once";
}

TEST_F(DebuginfodTest, AnyAmountOfTimeIsBounded) {
  Debuginfod debuginfod(program("echo /cache/x"), std::chrono::milliseconds::max());
  EXPECT_EQ(debuginfod.find(Debuginfod::Kind::debuginfo, id()), "/cache/x");
  EXPECT_EQ(Debuginfod(program("echo /cache/x"), -5ms).find(Debuginfod::Kind::debuginfo, id()), "");
}

TEST_F(DebuginfodTest, WhatOthersCouldHaveWrittenIsNotRun) {
  const std::string path = program("echo /cache/x");
  std::filesystem::permissions(folder_.path(), std::filesystem::perms{01777});
  Debuginfod debuginfod(path, 30s);
  EXPECT_EQ(debuginfod.diagnoses().size(), 1u);
  EXPECT_EQ(debuginfod.find(Debuginfod::Kind::debuginfo, id()), "");
}

}  // namespace
}  // namespace mixstack::target
