#include "process/live/perf_map_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <fstream>

#include "process/live/test_process.h"

namespace mixstack::process {
namespace {

using namespace test;

/// A child and the list that it might have written.
class PerfMapFile : public testing::Test {
 protected:
  void SetUp() override {
    process_ = std::make_unique<TestProcess>([](Shared& s) { s.ready++; });
    ASSERT_TRUE(process_->is_ready());
    auto proc = ProcDir::open(process_->id());
    ASSERT_TRUE(proc.has_value());
    proc_.emplace(std::move(*proc));
    path_ = perf_map_path(*proc_);
    write("1000 10 one\n2000 10 two\n");
  }
  void TearDown() override { ::unlink(path_.c_str()); }

  void write(const std::string& text) const {
    std::ofstream(path_, std::ios::trunc) << text;
    ::chmod(path_.c_str(), 0644);
  }
  [[nodiscard]] Result<PerfMapText> read(std::uint64_t known = 0, std::size_t most = 1 << 20) const {
    return read_perf_map(*proc_, known, most);
  }
  [[nodiscard]] ErrorCode refusal() const {
    const auto map = read();
    return map ? ErrorCode::none : map.error().code;
  }

  std::unique_ptr<TestProcess> process_;
  std::optional<ProcDir> proc_;
  std::string path_;
};

TEST_F(PerfMapFile, IsReadWholeOnceForEachVersion) {
  EXPECT_EQ(path_, "/tmp/perf-" + std::to_string(process_->id()) + ".map");
  const auto map = read();
  ASSERT_TRUE(map.has_value());
  EXPECT_EQ(map->text, "1000 10 one\n2000 10 two\n");
  EXPECT_NE(map->version, 0u);
  const auto same = read(map->version);
  ASSERT_TRUE(same.has_value());
  EXPECT_EQ(same->version, map->version);
  EXPECT_EQ(same->text, "");
  std::ofstream(path_, std::ios::app) << "3000 10 three\n";
  const auto more = read(map->version);
  ASSERT_TRUE(more.has_value());
  EXPECT_NE(more->version, map->version);
  EXPECT_EQ(more->text, "1000 10 one\n2000 10 two\n3000 10 three\n");
}

TEST_F(PerfMapFile, OfALongOneWholeLinesOfItsEndAreRead) {
  const auto end = read(0, 15);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->text, "\n2000 10 two\n");
  EXPECT_EQ(read(0, 3)->text, "\n");
  EXPECT_EQ(read(0, 0)->text, "");
}

TEST_F(PerfMapFile, ThatOthersMayWriteIsRefused) {
  ASSERT_EQ(::chmod(path_.c_str(), 0664), 0);
  EXPECT_EQ(refusal(), ErrorCode::permission_denied);
  ASSERT_EQ(::chmod(path_.c_str(), 0646), 0);
  EXPECT_EQ(refusal(), ErrorCode::permission_denied);
  ASSERT_EQ(::chmod(path_.c_str(), 0600), 0);
  EXPECT_EQ(refusal(), ErrorCode::none);
}

TEST_F(PerfMapFile, OfSomebodyElseIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs the right to give files away";
  ASSERT_EQ(::chown(path_.c_str(), 65534, 65534), 0);
  EXPECT_EQ(refusal(), ErrorCode::permission_denied);
  EXPECT_EQ(read().error().value, 65534u);
}

TEST_F(PerfMapFile, LinksAndOtherThingsAreRefused) {
  const std::string other = path_ + ".other";
  ASSERT_EQ(::rename(path_.c_str(), other.c_str()), 0);
  ASSERT_EQ(::symlink(other.c_str(), path_.c_str()), 0);
  EXPECT_EQ(refusal(), ErrorCode::unsupported);
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0644), 0);
  EXPECT_EQ(refusal(), ErrorCode::unsupported) << "and nobody waits for a writer";
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  EXPECT_EQ(refusal(), ErrorCode::not_found);
  ::unlink(other.c_str());
}

TEST_F(PerfMapFile, OfAnEarlierProcessOfThatNumberIsRefused) {
  const std::array<timespec, 2> long_ago{timespec{1000, 0}, timespec{1000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path_.c_str(), long_ago.data(), 0), 0);
  EXPECT_EQ(refusal(), ErrorCode::mismatch);
}

}  // namespace
}  // namespace mixstack::process
