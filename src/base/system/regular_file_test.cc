#include "base/system/regular_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

namespace mixstack::base {
namespace {

using namespace std::chrono_literals;

class RegularFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "mixstack-regular-XXXXXX";
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override {
    for (const char* name : {"file", "link", "fifo", "socket"}) ::unlink(at(name).c_str());
    ::rmdir(folder_.c_str());
  }
  [[nodiscard]] std::string at(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

TEST_F(RegularFile, IsOpenedDirectlyAndThroughALink) {
  {
    const ScopedFd made(::open(at("file").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    ASSERT_EQ(::write(made.get(), "abc", 3), 3);
  }
  ASSERT_EQ(::symlink("file", at("link").c_str()), 0);
  for (const char* name : {"file", "link"}) {
    auto fd = open_regular(at(name));
    ASSERT_TRUE(fd.has_value()) << name;
    char text[4] = {};
    EXPECT_EQ(::read(fd->get(), text, 4), 3);
    EXPECT_STREQ(text, "abc");
    EXPECT_NE(::fcntl(fd->get(), F_GETFD) & FD_CLOEXEC, 0);
  }
  const auto missing = open_regular(at("none"));
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
}

/// Opening a FIFO for writing blocks until it is opened for reading: the writer tells whether we opened it.
TEST_F(RegularFile, AFifoIsNotOpenedAtAll) {
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0);
  ASSERT_EQ(::symlink("fifo", at("link").c_str()), 0);
  std::atomic<bool> was_opened{false};
  std::thread writer([&] {
    const ScopedFd fd(::open(at("fifo").c_str(), O_WRONLY | O_CLOEXEC));
    was_opened = true;
  });
  std::this_thread::sleep_for(50ms);  // a writer that is not waiting yet would see nothing
  for (const char* name : {"fifo", "link"}) {
    const auto fd = open_regular(at(name));
    ASSERT_FALSE(fd.has_value());
    EXPECT_EQ(fd.error().code, ErrorCode::unsupported);
  }
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(was_opened);
  const ScopedFd release(::open(at("fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  writer.join();
}

TEST_F(RegularFile, NeitherAreFoldersDevicesAndSockets) {
  EXPECT_EQ(open_regular(folder_).error().code, ErrorCode::unsupported);
  EXPECT_EQ(open_regular("/dev/null").error().code, ErrorCode::unsupported);
  const ScopedFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, at("socket").c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(open_regular(at("socket")).error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace mixstack::base
