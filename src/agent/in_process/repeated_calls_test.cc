#include "agent/in_process/repeated_calls.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include "agent/in_process/tasks.h"

namespace mixstack::agent {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

RepeatedCalls* calls = nullptr;
std::atomic<int> repeated{0}, handled{0};

void on_signal(int, siginfo_t* info, void* context) {
  if (calls->repeat(context, info->si_errno)) repeated++;
  handled++;
}

struct Wait {
  int answer = 0, error = 0;
  milliseconds took{0};
  milliseconds after_last{0};  // from before the last signal was sent
};

/// A thread waits, gets `signals` with 100 ms between them, and tells how the wait ended.
class RepeatedCallsTest : public testing::Test {
 protected:
  void SetUp() override {
#ifndef __x86_64__
    GTEST_SKIP() << "nothing is repeated here";
#endif
    calls = &calls_;
    repeated = handled = 0;
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    action.sa_sigaction = on_signal;
    ASSERT_EQ(::sigaction(SIGPROF, &action, nullptr), 0);
    ASSERT_EQ(::pipe(ends_), 0);
  }
  void TearDown() override {
    (void)::signal(SIGPROF, SIG_IGN);
    for (const int end : ends_)
      if (end >= 0) (void)::close(end);
  }

  Wait wait(const std::function<int()>& call, int signals) {
    Wait out;
    std::atomic<std::uint32_t> tid{0};
    Clock::time_point ended, last_sent = Clock::now();
    std::thread thread([&] {
      tid = static_cast<std::uint32_t>(::gettid());
      const auto before = Clock::now();
      errno = 0;
      out.answer = call();
      out.error = out.answer < 0 ? errno : 0;
      ended = Clock::now();
      out.took = std::chrono::duration_cast<milliseconds>(ended - before);
    });
    for (int i = 0; i < signals; i++) {
      std::this_thread::sleep_for(milliseconds(100));
      siginfo_t info{};
      info.si_signo = SIGPROF;
      info.si_code = SI_QUEUE;
      info.si_pid = ::getpid();
      if (const auto place = task_wait(tid)) info.si_errno = calls_.plan(*place);
      last_sent = Clock::now();
      (void)::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), tid.load(), SIGPROF, &info);
    }
    thread.join();
    out.after_last = std::chrono::duration_cast<milliseconds>(ended - last_sent);
    return out;
  }

  RepeatedCalls calls_;
  int ends_[2] = {-1, -1};
};

TEST_F(RepeatedCallsTest, PollWaitsItsTime) {
  const Wait w = wait(
      [this] {
        pollfd fd{ends_[0], POLLIN, 0};
        return ::poll(&fd, 1, 400);
      },
      2);
  EXPECT_EQ(w.answer, 0) << "timed out, and not EINTR: " << w.error;
  EXPECT_EQ(repeated, 2);
  EXPECT_GE(w.after_last, milliseconds(390)) << "its whole time after the last signal";
}

TEST_F(RepeatedCallsTest, WhatComesMeanwhileIsSeen) {
  std::thread writer([this] {
    std::this_thread::sleep_for(milliseconds(300));
    (void)!::write(ends_[1], "x", 1);
  });
  const Wait w = wait(
      [this] {
        pollfd fd{ends_[0], POLLIN, 0};
        return ::poll(&fd, 1, 20'000);
      },
      2);
  writer.join();
  EXPECT_EQ(w.answer, 1);
  EXPECT_LT(w.took, milliseconds(15'000));
}

TEST_F(RepeatedCallsTest, SelectAndSleepsWaitTheRest) {
  const Wait select = wait(
      [this] {
        fd_set set;
        FD_ZERO(&set);
        FD_SET(ends_[0], &set);
        timeval time{0, 400'000};
        return ::select(ends_[0] + 1, &set, nullptr, nullptr, &time);
      },
      3);
  EXPECT_EQ(select.answer, 0) << select.error;
  EXPECT_GE(select.took, milliseconds(390));
  timespec left{};
  const Wait sleep = wait(
      [&left] {
        const timespec time{0, 400'000'000};
        return ::nanosleep(&time, &left);
      },
      3);
  EXPECT_EQ(sleep.answer, 0) << sleep.error;
  EXPECT_GE(sleep.took, milliseconds(390));
  EXPECT_EQ(repeated, 6);
}

TEST_F(RepeatedCallsTest, SocketsWithATimeOutAndEpoll) {
  int sockets[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  timeval time{0, 400'000};
  ASSERT_EQ(::setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)), 0);
  const Wait receive = wait(
      [&] {
        char byte;
        return static_cast<int>(::recv(sockets[0], &byte, 1, 0));
      },
      2);
  EXPECT_EQ(receive.error, EAGAIN);
  const int epoll = ::epoll_create1(0);
  const Wait events = wait(
      [&] {
        epoll_event event{};
        return ::epoll_wait(epoll, &event, 1, 400);
      },
      2);
  EXPECT_EQ(events.answer, 0) << events.error;
  EXPECT_EQ(repeated, 4);
  for (const int fd : {sockets[0], sockets[1], epoll}) (void)::close(fd);
}

TEST_F(RepeatedCallsTest, WhatIsNotPlannedOrElsewhereStaysInterrupted) {
  WaitPlace place;
  place.pc = 1;
  place.sp = 2;
  place.number = SYS_futex;
  EXPECT_NE(calls_.plan(place), 0);
  place.number = SYS_connect;
  EXPECT_EQ(calls_.plan(place), 0) << "it goes on after EINTR, and fails if made again";
  place.number = -1;
  EXPECT_EQ(calls_.plan(place), 0);
  std::atomic<std::uint32_t> tid{0};
  int error = 0;
  std::thread thread([&] {
    tid = static_cast<std::uint32_t>(::gettid());
    pollfd fd{ends_[0], POLLIN, 0};
    error = ::poll(&fd, 1, 20'000) < 0 ? errno : 0;
  });
  while (tid == 0 || !task_wait(tid)) std::this_thread::sleep_for(milliseconds(5));
  siginfo_t info{};
  info.si_signo = SIGPROF;
  info.si_code = SI_QUEUE;
  info.si_pid = ::getpid();
  info.si_errno = 1;  // planned for another place
  (void)::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), tid.load(), SIGPROF, &info);
  thread.join();
  EXPECT_EQ(error, EINTR);
  EXPECT_EQ(repeated, 0);
}

}  // namespace
}  // namespace mixstack::agent
