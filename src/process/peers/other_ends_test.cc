#include "process/peers/other_ends.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/system/scoped_fd.h"
#include "process/peers/unix_peer.h"

namespace mixstack::peers {
namespace {

/// The wait of a thread of ours at a descriptor, in words.
std::string told(WaitKind kind, int fd, const std::string& object, const std::string& comm = "",
                 FrameKind frame = FrameKind::native) {
  ProcessDump dump;
  dump.target.pid = static_cast<std::uint32_t>(::getpid());
  ThreadDump& thread = dump.threads.emplace_back();
  thread.comm = comm;
  thread.trace.frames.emplace_back().kind = frame;
  thread.facts.fd = fd;
  thread.facts.object = object;
  thread.wait.emplace();
  thread.wait->kind = kind;
  base::Beside beside;
  OtherEnds(dump, beside).tell(dump);
  return dump.threads[0].wait->object.detail;
}

struct Pair {
  base::ScopedFd first, second;
};

Pair pipe() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  return {base::ScopedFd(ends[0]), base::ScopedFd(ends[1])};
}

/// A child that keeps a descriptor and waits; ended with this.
class Keeper {
 public:
  explicit Keeper(int unwanted) : pid_(::fork()) {
    if (pid_ != 0) return;
    (void)::prctl(PR_SET_NAME, "keeper");
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(unwanted);
    for (;;) ::pause();
  }
  ~Keeper() {
    ::kill(pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, 0);
  }
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  [[nodiscard]] std::string words() const { return "the other end is held by " + std::to_string(pid_) + " \"keeper\""; }

 private:
  pid_t pid_;
};

/// The child has closed its other descriptor some time; and looking through all processes has a limit, which a machine
/// that does other work reaches.
std::string told_until(const std::string& expected, WaitKind kind, int fd, const std::string& object) {
  std::string text;
  for (int i = 0; i < 500 && (text = told(kind, fd, object)) != expected; i++) ::usleep(10'000);
  return text;
}

TEST(OtherEnds, APipeOfOurOwn) {
  const Pair ends = pipe();
  const std::string expected = "the other end is held by this process";
  EXPECT_EQ(told_until(expected, WaitKind::pipe, ends.first.get(), "pipe"), expected);
}

TEST(OtherEnds, BothEndsOfAPipe) {
  const Pair ends = pipe();
  ProcessDump dump;
  dump.target.pid = static_cast<std::uint32_t>(::getpid());
  for (const int fd : {ends.first.get(), ends.second.get()}) {
    ThreadDump& thread = dump.threads.emplace_back();
    thread.facts.fd = fd;
    thread.facts.object = "pipe";
    thread.wait.emplace();
    thread.wait->kind = WaitKind::pipe;
  }
  // The child has the reading end alone: of the two waits it is the other end of the writer's.
  const Keeper keeper(ends.second.get());
  const auto words = [&] {
    for (ThreadDump& t : dump.threads) t.wait->object.detail.clear();
    base::Beside beside;
    OtherEnds(dump, beside).tell(dump);
    return dump.threads[0].wait->object.detail + "; " + dump.threads[1].wait->object.detail;
  };
  const std::string own = "the other end is held by this process";
  const std::string whole = keeper.words(), pid = whole.substr(std::string("the other end is held by ").size());
  std::string text;
  for (int i = 0; i < 500 && !text.starts_with(own + "; " + own + ", "); i++, ::usleep(10'000)) text = words();
  EXPECT_EQ(text, own + "; " + own + ", " + pid);
}

TEST(OtherEnds, TheRuntimesOwnPipeOfSignalsIsNotLookedForByItsNameAlone) {
  const Pair ends = pipe();
  const auto told_of = [&](FrameKind frame) {
    return told(WaitKind::pipe, ends.first.get(), "pipe", ".NET SigHandler", frame);
  };
  EXPECT_EQ(told_of(FrameKind::native), "");
  std::string text;
  for (int i = 0; i < 500 && (text = told_of(FrameKind::managed)).empty(); i++) ::usleep(10'000);
  EXPECT_EQ(text, "the other end is held by this process") << "a thread of the program";
}

TEST(OtherEnds, APipeThatAnotherProcessWrites) {
  Pair ends = pipe();
  const Keeper keeper(ends.first.get());
  ends.second = base::ScopedFd();
  EXPECT_EQ(told_until(keeper.words(), WaitKind::pipe, ends.first.get(), "pipe"), keeper.words());
}

TEST(OtherEnds, AUnixSocket) {
  int pair[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  const base::ScopedFd first(pair[0]);
  base::ScopedFd second(pair[1]);
  if (const std::string text = told(WaitKind::socket, first.get(), "unix socket"); text.empty())
    GTEST_SKIP() << "the kernel does not tell of UNIX sockets (CONFIG_UNIX_DIAG)";
  const Keeper keeper(first.get());
  second = base::ScopedFd();
  EXPECT_EQ(told_until(keeper.words(), WaitKind::socket, first.get(), "unix socket"), keeper.words());
}

TEST(OtherEnds, ATcpConnectionOfThisMachine) {
  const base::ScopedFd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  ASSERT_EQ(::bind(server.get(), reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  ASSERT_EQ(::listen(server.get(), 1), 0);
  ASSERT_EQ(::getsockname(server.get(), reinterpret_cast<sockaddr*>(&at), &size), 0);
  const base::ScopedFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  const base::ScopedFd accepted(::accept(server.get(), nullptr, nullptr));
  sockaddr_in own{};
  size = sizeof own;
  ASSERT_EQ(::getsockname(client.get(), reinterpret_cast<sockaddr*>(&own), &size), 0);
  const auto name = [](const sockaddr_in& a) { return "127.0.0.1:" + std::to_string(ntohs(a.sin_port)); };
  EXPECT_EQ(told(WaitKind::socket, client.get(), "tcp " + name(own) + " -> " + name(at)),
            "the other end is held by this process");
  EXPECT_EQ(told(WaitKind::socket, server.get(), "tcp listening on " + name(at)), "");
  EXPECT_EQ(told(WaitKind::socket, client.get(), "tcp " + name(own) + " -> 192.0.2.1:80"), "");
}

TEST(OtherEnds, WhatAnEpollSetHolds) {
  const base::ScopedFd set(::epoll_create1(EPOLL_CLOEXEC));
  const Pair ends = pipe();
  epoll_event event{};
  ASSERT_EQ(::epoll_ctl(set.get(), EPOLL_CTL_ADD, ends.first.get(), &event), 0);
  EXPECT_EQ(told(WaitKind::poll, set.get(), "epoll of 1 file"), std::to_string(ends.first.get()) + " pipe");
}

TEST(OtherEnds, WhatIsNoPipe) {
  EXPECT_EQ(told(WaitKind::pipe, -1, "pipe"), "");
  EXPECT_EQ(told(WaitKind::socket, 1 << 20, "tcp nonsense"), "");
  EXPECT_FALSE(unix_peer(0xfffffff0u));
}

}  // namespace
}  // namespace mixstack::peers
