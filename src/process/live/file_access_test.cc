#include "process/live/file_access.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <fstream>

#include "process/live/live_target.h"
#include "process/live/test_process.h"

namespace mixstack::process {
namespace {

using namespace test;

std::string text_of(const Result<std::shared_ptr<const FileBytes>>& file) {
  if (!file) return "error " + std::to_string(static_cast<int>(file.error().code));
  const auto bytes = (*file)->bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A file that the child has mapped, in a directory of its own.
class MappedFile : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = testing::TempDir() + "mixstack-files-" + std::to_string(::getpid());
    ::mkdir(directory_.c_str(), 0755);
    path_ = directory_ + "/a\nb (deleted) \\012.so";
    write(path_, "first");
    process_ = std::make_unique<TestProcess>([&](Shared& s) {
      const int fd = ::open(path_.c_str(), O_RDONLY);
      if (::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED) ::_exit(1);
      ::close(fd);
      s.ready++;
    });
    ASSERT_TRUE(process_->is_ready());
    auto target = open_live(process_->id());
    ASSERT_TRUE(target.has_value());
    target_ = std::move(*target);
  }
  void TearDown() override {
    ::unlink(path_.c_str());
    ::rmdir(directory_.c_str());
  }
  static void write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::trunc) << text; }

  Region mapping() const {
    auto regions = target_->regions();
    if (!regions) return {};
    auto it = std::find_if(regions->begin(), regions->end(),
                           [&](const Region& r) { return r.path.find("mixstack-files-") != std::string::npos; });
    return it == regions->end() ? Region{} : *it;
  }
  /// The same without its entry in map_files, as for a user who may not use that.
  Region by_path_only() const {
    Region r = mapping();
    r.range.begin += 16;
    return r;
  }

  std::string directory_, path_;
  std::unique_ptr<TestProcess> process_;
  std::unique_ptr<Target> target_;
};

TEST_F(MappedFile, IsOpenedByMappingAndByPath) {
  EXPECT_FALSE(mapping().deleted);
  EXPECT_EQ(text_of(target_->open_file(mapping())), "first");
  EXPECT_EQ(text_of(target_->open_path(path_)), "first");
}

TEST_F(MappedFile, IsFoundAfterItWasDeletedAndReplaced) {
  ::unlink(path_.c_str());
  write(path_, "second");
  EXPECT_TRUE(mapping().deleted);
  if (::geteuid() == 0) {
    EXPECT_EQ(text_of(target_->open_file(mapping())), "first");
  }
  // A target that has not opened the file before finds another one at its path.
  const auto other = open_live(process_->id());
  ASSERT_TRUE(other.has_value());
  auto wrong = (*other)->open_file(by_path_only());
  ASSERT_FALSE(wrong.has_value());
  EXPECT_TRUE(wrong.error().code == ErrorCode::mismatch || wrong.error().code == ErrorCode::not_found);
}

TEST_F(MappedFile, IsRefusedByPathWhenAnotherLiesThere) {
  Region r = by_path_only();
  r.path = directory_ + "/plain";
  write(r.path, "other");
  auto wrong = target_->open_file(r);
  ::unlink(r.path.c_str());
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().code, ErrorCode::mismatch);
}

TEST_F(MappedFile, OfAProcessThatHasEndedIsOpenedByPath) {
  Region r = by_path_only();
  r.path = path_;  // the kernel writes a line break and "\012" alike
  const auto early = open_live(process_->id()), other = open_live(process_->id());  // have opened nothing yet
  ASSERT_TRUE(early.has_value() && other.has_value());
  process_.reset();
  EXPECT_EQ(text_of((*early)->open_file(r)), "first");
  EXPECT_NE(text_of((*early)->open_path(path_)), "first") << "nothing tells which file that was";
  const std::string replaced = path_ + ".new";
  write(replaced, "second");
  ASSERT_EQ(::rename(replaced.c_str(), path_.c_str()), 0);
  const auto wrong = (*other)->open_file(r);
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().code, ErrorCode::mismatch);
}

TEST_F(MappedFile, AnonymousAndDeviceMappingsAreNotOpened) {
  Region r = mapping();
  r.path = "/dev/null";
  EXPECT_EQ(target_->open_file(r).error().code, ErrorCode::unsupported);
  EXPECT_EQ(target_->open_file(Region{}).error().code, ErrorCode::not_found);
  EXPECT_EQ(target_->open_path("relative").error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(target_->open_path("/dev/null").error().code, ErrorCode::unsupported);
  EXPECT_EQ(target_->open_path("/no/such/file").error().code, ErrorCode::not_found);
}

/// Opening a FIFO for writing waits for a reader: the child tells whether one came.
TEST(FileAccess, WhatIsNoRegularFileIsNotOpenedAtAll) {
  const std::string room = testing::TempDir() + "mixstack-fifo-" + std::to_string(::getpid());
  ::mkdir(room.c_str(), 0755);
  const std::string fifo = room + "/lib.so";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0644), 0);
  ASSERT_EQ(::symlink("lib.so", (room + "/link.so").c_str()), 0);
  const TestProcess process([&](Shared& s) {
    s.ready++;
    const int fd = ::open(fifo.c_str(), O_WRONLY);
    s.values[0] = fd >= 0 ? 1 : -1;
  });
  ASSERT_TRUE(process.is_ready());
  ASSERT_TRUE(eventually([&] { return state_of(process.pid()) == 'S'; }));
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  for (const std::string& path : {fifo, room + "/link.so"}) {
    EXPECT_EQ((*target)->open_path(path).error().code, ErrorCode::unsupported);
    Region region;
    region.range = {0x10000, 0x11000};
    region.inode = 1;
    region.path = path;
    EXPECT_FALSE((*target)->open_file(region).has_value());
  }
  nap(50ms);
  EXPECT_EQ(process.shared().values[0], 0) << "the FIFO was opened";
  ::unlink(fifo.c_str());
  ::unlink((room + "/link.so").c_str());
  ::rmdir(room.c_str());
}

TEST(FileAccess, AMappedDeviceIsNotOpened) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to make a device file";
  const std::string path = testing::TempDir() + "mixstack-zero-" + std::to_string(::getpid());
  if (::mknod(path.c_str(), S_IFCHR | 0644, makedev(1, 5)) != 0) GTEST_SKIP() << "no device files can be made here";
  const TestProcess process([&](Shared& s) {
    const int fd = ::open(path.c_str(), O_RDONLY);
    s.values[0] = fd >= 0 && ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED ? 1 : -1;
    s.ready++;
  });
  ASSERT_TRUE(process.is_ready());
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  auto regions = (*target)->regions();
  ASSERT_TRUE(regions.has_value());
  const auto mapped =
      std::find_if(regions->begin(), regions->end(), [&](const Region& r) { return r.path.ends_with(path); });
  ::unlink(path.c_str());
  if (process.shared().values[0] != 1) GTEST_SKIP() << "device files cannot be used in the folder for tests";
  ASSERT_NE(mapped, regions->end());
  EXPECT_EQ((*target)->open_file(*mapped).error().code, ErrorCode::unsupported);
}

TEST(FileAccess, SeesTheMountsAndTheRootOfTheProcess) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to mount and to change the root";
  const std::string room = testing::TempDir() + "mixstack-root-" + std::to_string(::getpid());
  ::mkdir(room.c_str(), 0755);
  const TestProcess process([&](Shared& s) {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) ::_exit(1);
    if (::mount("none", room.c_str(), "tmpfs", 0, nullptr) != 0 || ::chroot(room.c_str()) != 0) ::_exit(1);
    std::ofstream("/file") << "inside";
    if (::symlink("/file", "/link") != 0 || ::symlink("/etc/passwd", "/outside") != 0) ::_exit(1);
    if (::symlink("../../../../../../etc/passwd", "/climber") != 0 || ::mkfifo("/fifo", 0644) != 0) ::_exit(1);
    const int fd = ::open("/file", O_RDONLY);
    if (::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED) ::_exit(1);
    s.ready++;
  });
  ASSERT_TRUE(process.is_ready());
  auto target = open_live(process.id());
  ASSERT_TRUE(target.has_value());
  EXPECT_EQ(text_of((*target)->open_path("/file")), "inside");
  EXPECT_EQ(text_of((*target)->open_path("/link")), "inside");
  EXPECT_EQ((*target)->open_path("/outside").error().code, ErrorCode::not_found) << "must not leave the root";
  EXPECT_EQ((*target)->open_path("/climber").error().code, ErrorCode::not_found) << "must not leave the root";
  EXPECT_EQ((*target)->open_path("/fifo").error().code, ErrorCode::unsupported) << "must not wait for a writer";
  auto regions = (*target)->regions();
  ASSERT_TRUE(regions.has_value());
  auto mapped = std::find_if(regions->begin(), regions->end(),
                             [](const Region& r) { return r.path == "/file" || r.path.ends_with("/file"); });
  ASSERT_NE(mapped, regions->end());
  EXPECT_EQ(text_of((*target)->open_file(*mapped)), "inside");
  ::rmdir(room.c_str());
}

}  // namespace
}  // namespace mixstack::process
