#include "output/push/spool.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "output/push/spool_entry.h"

namespace mixstack::push {
namespace {

namespace fs = std::filesystem;

const PushTarget kTarget = *parse_push_target("http://h:4040");
const PushTarget kOther = *parse_push_target("http://h:4041");

class SpoolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/mixstack-spool-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    root_ = name;
    folder_ = root_ / "a" / "push";
  }
  void TearDown() override { fs::remove_all(root_); }
  [[nodiscard]] std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    for (const auto& entry : fs::directory_iterator(folder_)) all.push_back(entry.path());
    std::sort(all.begin(), all.end());
    return all;
  }
  fs::path root_, folder_;
};

TEST_F(SpoolTest, OldestFirstAndOfThisServerAlone) {
  Spool spool(folder_, 1 << 20);
  EXPECT_FALSE(spool.oldest(kTarget));
  EXPECT_FALSE(fs::exists(folder_)) << "made by looking";
  ASSERT_TRUE(spool.keep(kOther, {"o=1", "other"}));
  ASSERT_TRUE(spool.keep(kTarget, {"a=1", "first"}));
  ASSERT_TRUE(spool.keep(kTarget, {"a=2", "second"}));
  EXPECT_EQ(spool.waiting(kTarget), 2u);
  EXPECT_EQ(spool.waiting(kOther), 1u);
  Spool later(folder_, 1 << 20);  // of another run
  const auto first = later.oldest(kTarget);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->request, (PushRequest{"a=1", "first"}));
  later.remove(*first);
  const auto second = later.oldest(kTarget);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->request.body, "second");
  later.remove(*second);
  EXPECT_FALSE(later.oldest(kTarget));
  EXPECT_EQ(later.waiting(kOther), 1u);
}

TEST_F(SpoolTest, NobodyElseReadsIt) {
  Spool spool(folder_, 1 << 20);
  ASSERT_TRUE(spool.keep(kTarget, {"a=1", "first"}));
  struct stat st {};
  ASSERT_EQ(::stat(folder_.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0700u);
  ASSERT_EQ(files().size(), 1u);
  ASSERT_EQ(::stat(files().front().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0600u);
}

TEST_F(SpoolTest, TwoProgramsDoNotSendTheSame) {
  Spool spool(folder_, 1 << 20), other(folder_, 1 << 20);
  ASSERT_TRUE(spool.keep(kTarget, {"a=1", "first"}));
  ASSERT_TRUE(spool.keep(kTarget, {"a=2", "second"}));
  auto claimed = spool.oldest(kTarget);
  ASSERT_TRUE(claimed);
  const auto next = other.oldest(kTarget);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->request.body, "second");
  claimed.reset();  // it could not be sent
  EXPECT_EQ(other.oldest(kTarget)->request.body, "first");
}

TEST_F(SpoolTest, TheOldestGoWhenThereIsNoRoom) {
  Spool spool(folder_, 64 << 10);
  for (int i = 0; i < 10; i++) ASSERT_TRUE(spool.keep(kTarget, {"a=" + std::to_string(i), std::string(16 << 10, 'x')}));
  const std::uint64_t waiting = spool.waiting(kTarget);
  EXPECT_LE(waiting, 4u);
  EXPECT_GE(waiting, 2u);
  EXPECT_EQ(spool.crowded_out(), 10 - waiting);
  EXPECT_EQ(spool.oldest(kTarget)->request.query, "a=" + std::to_string(10 - waiting));
  EXPECT_FALSE(spool.keep(kTarget, {"", std::string(65 << 10, 'x')})) << "larger than all the room";
}

TEST_F(SpoolTest, DamagedFilesGoAndOthersStay) {
  Spool spool(folder_, 1 << 20);
  ASSERT_TRUE(spool.keep(kTarget, {"a=1", "first"}));
  ASSERT_TRUE(spool.keep(kTarget, {"a=2", "second"}));
  fs::resize_file(files().front(), fs::file_size(files().front()) - 1);
  std::ofstream(folder_ / "notes.txt") << "mine";
  std::ofstream(folder_ / ".part-1-1") << "half";
  EXPECT_EQ(spool.oldest(kTarget)->request.body, "second");
  EXPECT_EQ(spool.damaged(), 1u);
  EXPECT_EQ(files().size(), 3u);
}

TEST_F(SpoolTest, AFileUnderAnotherNameLeadsNowhere) {
  Spool spool(folder_, 1 << 20);
  ASSERT_TRUE(spool.keep(kTarget, {"a=1", "first"}));
  // The file of our target now holds a request to another server.
  std::ofstream(files().front(), std::ios::trunc) << encode_spool_entry(kOther, {"a=1", "first"});
  EXPECT_FALSE(spool.oldest(kTarget));
  EXPECT_EQ(spool.damaged(), 1u);
}

TEST_F(SpoolTest, LinksPipesAndLargeFilesAreNotRead) {
  Spool spool(folder_, 1 << 20);
  ASSERT_TRUE(spool.keep(kTarget, {"a=1", "first"}));
  const fs::path file = files().front();
  fs::rename(file, root_ / "elsewhere");
  fs::create_symlink(root_ / "elsewhere", file);
  EXPECT_FALSE(spool.oldest(kTarget));
  fs::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_FALSE(spool.oldest(kTarget));
  fs::remove(file);
  std::ofstream(file) << "";
  fs::resize_file(file, std::uintmax_t{1} << 40);
  EXPECT_FALSE(spool.oldest(kTarget));
  EXPECT_TRUE(fs::exists(root_ / "elsewhere"));
}

TEST_F(SpoolTest, AFolderOfOthersIsNotUsed) {
  fs::create_directories(folder_);
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  Spool spool(folder_, 1 << 20);
  const auto kept = spool.keep(kTarget, {"a=1", "first"});
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().error.code, ErrorCode::permission_denied);
  EXPECT_NE(kept.error().text.find("spool"), std::string::npos);
  EXPECT_FALSE(Spool("", 1 << 20).keep(kTarget, {"a=1", "first"}));
}

}  // namespace
}  // namespace mixstack::push
