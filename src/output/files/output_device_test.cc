#include "output/files/output_device.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>

namespace mixstack::files {
namespace {

class OutputPlaceTest : public testing::Test {
 protected:
  OutputPlaceTest() {
    std::string name = (std::filesystem::temp_directory_path() / "mixstack-place-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~OutputPlaceTest() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path(const char* name) const { return (folder_ / name).string(); }
  std::filesystem::path folder_;
};

TEST_F(OutputPlaceTest, WhatIsFoundAtFirstIsWhatIsOpened) {
  const std::string pipe = path("pipe"), victim = path("victim");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::ofstream(victim) << "old";
  const base::ScopedFd reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const auto device = OutputDevice::find(pipe);
  ASSERT_TRUE(device && *device);
  EXPECT_TRUE((*device)->is_pipe());
  EXPECT_EQ((*device)->refusal(), 0);
  std::filesystem::remove(pipe);
  std::filesystem::create_symlink(victim, pipe);
  const auto opened = (*device)->open();
  ASSERT_TRUE(opened);
  ASSERT_EQ(::write(opened->get(), "new", 3), 3);
  std::array<char, 4> text{};
  EXPECT_EQ(::read(reader.get(), text.data(), text.size()), 3);
  EXPECT_EQ(std::filesystem::file_size(victim), 3u);
  std::string now;
  std::ifstream(victim) >> now;
  EXPECT_EQ(now, "old");
}

TEST_F(OutputPlaceTest, LinksLeadToDevicesAlone) {
  std::ofstream(path("file")) << "old";
  std::filesystem::create_symlink("file", path("to-file"));
  std::filesystem::create_symlink("nothing", path("to-nothing"));
  std::filesystem::create_symlink("/dev/null", path("to-null"));
  for (const char* name : {"to-file", "to-nothing"}) {
    const auto device = OutputDevice::find(path(name));
    ASSERT_FALSE(device) << name;
    EXPECT_EQ(device.error(), path(name) + " is a link, and links are not followed");
    EXPECT_NE(fault_of_place(path(name)).words.find("is a link"), std::string::npos) << name;
  }
  for (const std::string& name : {std::string("/dev/null"), path("to-null")}) {
    const auto device = OutputDevice::find(name);
    ASSERT_TRUE(device && *device) << name;
    EXPECT_TRUE((*device)->open());
    EXPECT_EQ(fault_of_place(name).words, "");
  }
}

TEST_F(OutputPlaceTest, DescriptorsHaveNamesThatAreLinks) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const base::ScopedFd reader(ends[0]), writer(ends[1]);
  const auto device = OutputDevice::find("/dev/fd/" + std::to_string(writer.get()));
  ASSERT_TRUE(device && *device);
  const auto opened = (*device)->open();
  ASSERT_TRUE(opened);
  ASSERT_EQ(::write(opened->get(), "new", 3), 3);
  std::array<char, 4> text{};
  EXPECT_EQ(::read(reader.get(), text.data(), text.size()), 3);
}

TEST_F(OutputPlaceTest, LinksOfOthersAreNotFollowed) {
  std::filesystem::create_symlink("/dev/null", path("link"));
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  EXPECT_FALSE(OutputDevice::find(path("link"))) << "anybody could have put it there";
  ASSERT_EQ(::chmod(folder_.c_str(), 01777), 0);
  EXPECT_TRUE(OutputDevice::find(path("link")));
  if (::geteuid() != 0) GTEST_SKIP() << "needs to be root, to give files away";
  ASSERT_EQ(::lchown(path("link").c_str(), 65534, 65534), 0);
  EXPECT_FALSE(OutputDevice::find(path("link"))) << "it is another user's";
  ASSERT_EQ(::lchown(path("link").c_str(), 0, 0), 0);
  ASSERT_EQ(::chown(folder_.c_str(), 65534, 65534), 0);
  EXPECT_FALSE(OutputDevice::find(path("link"))) << "its folder is another user's";
}

TEST_F(OutputPlaceTest, FilesAndFoldersAreNoDevices) {
  std::ofstream(path("file")) << "old";
  for (const std::string& name : {path("file"), path("nothing"), path("no/thing"), folder_.string(), path("")}) {
    const auto device = OutputDevice::find(name);
    ASSERT_TRUE(device) << name;
    EXPECT_FALSE(*device) << name;
  }
  EXPECT_EQ(fault_of_place(path("file")).words, "");
  EXPECT_EQ(fault_of_place(path("nothing")).words, "");
  EXPECT_NE(fault_of_place(path("no/thing")).words, "");
  EXPECT_NE(fault_of_place(folder_.string()).words.find("Is a directory"), std::string::npos);
}

}  // namespace
}  // namespace mixstack::files
