#include "agent/client/target_place.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

namespace mixstack::agent_client {
namespace {

using agent_link::Clock;
constexpr SocketName kName{"mixstack-test-", "-socket"};

/// A folder of sockets, and a place that has them in it: this process.
class TargetPlaceTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(folder_), nullptr);
    auto place = place_of(static_cast<std::uint32_t>(::getpid()));
    ASSERT_TRUE(place);
    place_ = std::move(*place);
    place_.folders = {"/no-such-folder", folder_};
  }
  void TearDown() override {
    for (const std::string& path : paths_) (void)::unlink(path.c_str());
    (void)::rmdir(folder_);
  }
  std::string path_of(const std::string& key) {
    return std::string(folder_) + "/mixstack-test-" + std::to_string(::getpid()) + "-" + key + "-socket";
  }
  base::ScopedFd listen_at(const std::string& path) {
    paths_.push_back(path);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    base::ScopedFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(fd.get(), 4), 0);
    return fd;
  }
  ErrorCode try_connect() {
    const auto link = connect_to_process(place_, kName, Clock::now() + std::chrono::seconds(5));
    return link ? ErrorCode::none : link.error().error.code;
  }

  char folder_[32] = "/tmp/mixstack-place-XXXXXX";
  std::vector<std::string> paths_;
  TargetPlace place_;
};

TEST_F(TargetPlaceTest, OurOwnProcess) {
  EXPECT_EQ(place_.user, ::geteuid());
  EXPECT_EQ(place_.inner_pid, place_.pid);
  EXPECT_EQ(place_.state, 'R');
  EXPECT_FALSE(place_.has_own_root);
  EXPECT_EQ(place_of(INT32_MAX).error().error.code, ErrorCode::no_such_process);
}

TEST(NamesMusl, ByTheLoader) {
  EXPECT_TRUE(names_musl("7f00-7f01 r-xp 00000000 fe:00 12   /lib/ld-musl-x86_64.so.1\n"));
  EXPECT_TRUE(
      names_musl("7e00-7e01 r-xp 0 fe:00 9 /usr/bin/x\n7f00-7f01 r-xp 0 fe:00 12 /lib/aarch64-linux-musl/libc.so"));
  EXPECT_FALSE(names_musl("7f00-7f01 r-xp 00000000 fe:00 12   /lib/x86_64-linux-gnu/libc.so.6\n"));
  EXPECT_FALSE(names_musl("7f00-7f01 r-xp 00000000 fe:00 12   /srv/libc.so\n7f02-7f03 rw-p 0 00:00 0 [heap]\n"));
  EXPECT_FALSE(names_musl(""));
  EXPECT_FALSE(names_musl("\n\n/"));
}

TEST_F(TargetPlaceTest, ItsSocketIsFoundBesideOnesThatAreDead) {
  EXPECT_EQ(try_connect(), ErrorCode::not_found);
  { const base::ScopedFd dead = listen_at(path_of("1")); }
  EXPECT_EQ(try_connect(), ErrorCode::not_found) << "nobody listens there any more";
  const base::ScopedFd living = listen_at(path_of("2"));
  EXPECT_EQ(try_connect(), ErrorCode::none);
}

TEST_F(TargetPlaceTest, ASocketOnWhichAnotherProcessListensIsNotIts) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const std::string path = path_of("3");
  const pid_t child = ::fork();
  if (child == 0) {
    const base::ScopedFd fd = listen_at(path);
    (void)!::write(ready[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  paths_.push_back(path);
  char x = 0;
  ASSERT_EQ(::read(ready[0], &x, 1), 1);
  EXPECT_EQ(try_connect(), ErrorCode::not_found);
  (void)::kill(child, SIGKILL);
  (void)::waitpid(child, nullptr, 0);
  (void)::close(ready[0]), (void)::close(ready[1]);
}

TEST_F(TargetPlaceTest, AFileOfAnotherUserIsNotIts) {
  const base::ScopedFd fd = listen_at(path_of("4"));
  place_.user = ::geteuid() + 1;
  EXPECT_EQ(try_connect(), ErrorCode::not_found);
}

TEST(TargetPlace, NamesOfSockets) {
  EXPECT_TRUE(is_name_of("dotnet-diagnostic-17-81-socket", {"dotnet-diagnostic-", "-socket"}, 17));
  for (const char* name : {"dotnet-diagnostic-171-81-socket", "dotnet-diagnostic-17-81-socke", "dotnet-diagnostic-17",
                           "dotnet-diagnostic-socket", "", "dotnet-diagnostic--socket"})
    EXPECT_FALSE(is_name_of(name, {"dotnet-diagnostic-", "-socket"}, 17)) << name;
}

TEST(TargetPlace, VariablesOfAnEnvironment) {
  const std::string_view environment("A=1\0XTMPDIR=/x\0TMPDIR=/a=b\0TMPDIR=/late\0B", 42);
  EXPECT_EQ(variable_of(environment, "TMPDIR"), "/a=b");
  EXPECT_EQ(variable_of(environment, "B"), "");
  EXPECT_EQ(variable_of("", "A"), "");
}

}  // namespace
}  // namespace mixstack::agent_client
