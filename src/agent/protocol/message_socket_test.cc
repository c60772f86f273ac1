#include "agent/protocol/message_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <thread>

namespace mixstack::agent_link {
namespace {

using std::chrono::milliseconds;

struct Pair {
  Pair() {
    std::array<int, 2> fds{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()), 0);
    a = base::ScopedFd(fds[0]), b = base::ScopedFd(fds[1]);
  }
  base::ScopedFd a, b;
};

Clock::time_point soon() { return Clock::now() + milliseconds(30); }
Clock::time_point late() { return Clock::now() + std::chrono::seconds(60); }

TEST(MessageSocket, MessagesComeWholeHoweverTheyAreCut) {
  const Pair pair;
  const Bytes bytes = message(Kind::start, "a=b\n");
  std::thread writer([&] {
    for (const std::byte& b : bytes) {
      EXPECT_TRUE(send_all(pair.a.get(), std::span(&b, 1), late()));
      std::this_thread::yield();
    }
  });
  const auto got = receive(pair.b.get(), late());
  writer.join();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->header.kind, Kind::start);
  EXPECT_EQ(got->payload.size(), 4u);
}

TEST(MessageSocket, NobodyIsWaitedForLongerThanAsked) {
  const Pair pair;
  EXPECT_EQ(receive(pair.b.get(), soon()).error().code, ErrorCode::limit_exceeded) << "nothing came";
  const Bytes bytes = message(Kind::start, "a=b\n");
  ASSERT_TRUE(send_all(pair.a.get(), std::span(bytes).first(14), late()));
  EXPECT_EQ(receive(pair.b.get(), soon()).error().code, ErrorCode::limit_exceeded) << "half a message came";
  const std::vector<std::byte> much(16u << 20);
  EXPECT_EQ(send_all(pair.a.get(), much, soon()).error().code, ErrorCode::limit_exceeded) << "nobody reads";
}

TEST(MessageSocket, TheEndOfTheOtherIsAnError) {
  Pair pair;
  pair.a = base::ScopedFd();
  EXPECT_EQ(receive(pair.b.get(), late()).error().code, ErrorCode::not_found);
  EXPECT_EQ(send_all(pair.b.get(), message(Kind::status), late()).error().code, ErrorCode::not_found);
}

TEST(MessageSocket, RubbishIsNoMessage) {
  const Pair pair;
  const Bytes rubbish(64, std::byte{'x'});
  ASSERT_TRUE(send_all(pair.a.get(), rubbish, late()));
  EXPECT_EQ(receive(pair.b.get(), late()).error().code, ErrorCode::malformed);
}

TEST(MessageSocket, WhoListensIsToldByTheKernel) {
  char folder[] = "/tmp/mixstack-link-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/socket";
  EXPECT_EQ(connect_to(path, soon()).error().code, ErrorCode::not_found);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const base::ScopedFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(connect_to(path, soon()).error().code, ErrorCode::not_found) << "bound, and nobody listens";
  ASSERT_EQ(::listen(listener.get(), 0), 0);
  const auto link = connect_to(path, late());
  ASSERT_TRUE(link);
  const auto peer = peer_of(link->get());
  ASSERT_TRUE(peer);
  EXPECT_EQ(peer->pid, static_cast<std::uint32_t>(::getpid()));
  EXPECT_EQ(peer->uid, ::geteuid());
  // One waits in the queue, which is then full.
  EXPECT_EQ(connect_to(path, soon()).error().code, ErrorCode::limit_exceeded);
  EXPECT_EQ(connect_to(std::string(200, 'x'), soon()).error().code, ErrorCode::limit_exceeded);
  (void)::unlink(path.c_str());
  (void)::rmdir(folder);
}

}  // namespace
}  // namespace mixstack::agent_link
