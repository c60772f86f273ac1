// Threads in calls that a ptrace stop ends early: those of signal(7) that are never restarted. waits [RUNNING]: so many
// more threads compute. Prints "READY PID"; answers each line with how often such a call was interrupted.
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace {

std::atomic<int> interrupted{0}, ready{0};
std::atomic<unsigned long> spun{0};

void count(long answer) {
  if (answer < 0 && errno == EINTR) ++interrupted;
}

extern "C" __attribute__((noinline)) void waits_in_epoll() {
  const int events = ::epoll_create1(0);
  epoll_event event{};
  for (++ready;;) count(::epoll_wait(events, &event, 1, -1));
}
extern "C" __attribute__((noinline)) void waits_for_a_signal() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGUSR2);
  for (++ready;;) count(::sigwaitinfo(&set, nullptr));
}
extern "C" __attribute__((noinline)) void waits_in_poll() {
  for (++ready;;) count(::poll(nullptr, 0, -1));
}
extern "C" __attribute__((noinline)) void waits_in_read() {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) std::_Exit(1);
  const timeval long_time{3600, 0};  // with a time limit it is not restarted
  ::setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &long_time, sizeof long_time);
  char byte = 0;
  for (++ready;;) count(::read(pair[0], &byte, 1));
}
extern "C" __attribute__((noinline)) void computes() {
  for (++ready;;) spun.fetch_add(1, std::memory_order_relaxed);
}

template <void (*run)()>
void start() {
  pthread_t thread{};
  if (::pthread_create(
          &thread, nullptr, [](void*) -> void* { return run(), nullptr; }, nullptr) != 0)
    std::_Exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const int running = argc > 1 ? std::atoi(argv[1]) : 0;
  start<waits_in_epoll>();
  start<waits_for_a_signal>();
  start<waits_in_poll>();
  start<waits_in_read>();
  for (int i = 0; i < running; i++) start<computes>();
  while (ready < 4 + running) ::usleep(1000);
  std::printf("READY %d\n", ::getpid());
  std::fflush(stdout);
  for (int c; (c = std::getchar()) != EOF;) {
    if (c != '\n') continue;
    std::printf("%d\n", interrupted.load());
    std::fflush(stdout);
  }
}
