// Threads that wait for each other's locks and give up some time, or never. Prints "TRUTH WAITER WAIT OWNER" with
// names of threads, and "READY PID". "mutexes": two wait for each other's mutex, one of them for an hour. "robust": two
// for each other's robust mutex for ever. "rwlocks": two that write under one read-write lock each want the other's,
// one more wants to read. "readers": one reads, one wants to write. "rwlocks_timed": as "rwlocks", and one gives up.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

namespace {

using namespace std::string_view_literals;

pthread_mutex_t mutexes[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
pthread_rwlock_t rwlocks[2] = {PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER};
std::atomic<int> hold{0}, ready{0};
bool is_timed = false;

timespec in_an_hour() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  time.tv_sec += 3600;
  return time;
}

void meet() {
  ++hold;
  while (hold != 2) ::usleep(1000);
  ++ready;
}

extern "C" __attribute__((noinline)) void crosses(std::size_t own) {
  const timespec end = in_an_hour();
  ::pthread_mutex_lock(&mutexes[own]);
  meet();
  if (is_timed && own == 0)
    ::pthread_mutex_timedlock(&mutexes[1], &end);
  else
    ::pthread_mutex_lock(&mutexes[1 - own]);
  std::puts("never");
}

extern "C" __attribute__((noinline)) void writes(std::size_t own) {
  const timespec end = in_an_hour();
  ::pthread_rwlock_wrlock(&rwlocks[own]);
  meet();
  if (is_timed && own == 0)
    ::pthread_rwlock_timedwrlock(&rwlocks[1], &end);
  else
    ::pthread_rwlock_wrlock(&rwlocks[1 - own]);
  std::puts("never");
}

void start(const char* name, void* (*body)(void*)) {
  pthread_t thread;
  if (::pthread_create(&thread, nullptr, body, nullptr) != 0) std::_Exit(1);
  ::pthread_setname_np(thread, name);
}

void make_robust() {
  pthread_mutexattr_t kind;
  ::pthread_mutexattr_init(&kind);
  ::pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  for (pthread_mutex_t& mutex : mutexes) ::pthread_mutex_init(&mutex, &kind);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view what = count == 2 ? arguments[1] : "mutexes";
  int expected = 2;
  if (what == "mutexes"sv || what == "robust"sv) {
    is_timed = what == "mutexes"sv;
    if (!is_timed) make_robust();
    start("left", [](void*) -> void* { return crosses(0), nullptr; });
    start("right", [](void*) -> void* { return crosses(1), nullptr; });
    std::puts("TRUTH left native_mutex right\nTRUTH right native_mutex left");
  } else if (what == "rwlocks"sv || what == "rwlocks_timed"sv) {
    is_timed = what == "rwlocks_timed"sv;
    expected = 3;
    start("left", [](void*) -> void* { return writes(0), nullptr; });
    start("right", [](void*) -> void* { return writes(1), nullptr; });
    start("reader", [](void*) -> void* {
      while (ready < 2) ::usleep(1000);
      ::usleep(100'000);
      ++ready;
      return ::pthread_rwlock_rdlock(&rwlocks[0]), nullptr;
    });
    std::puts("TRUTH left native_rwlock right\nTRUTH right native_rwlock left\nTRUTH reader native_rwlock left");
  } else {
    start("reader", [](void*) -> void* {
      ::pthread_rwlock_rdlock(&rwlocks[0]);
      ++ready;
      for (;;) ::sleep(1000);
    });
    start("writer", [](void*) -> void* {
      while (ready == 0) ::usleep(1000);
      ++ready;
      return ::pthread_rwlock_wrlock(&rwlocks[0]), nullptr;
    });
    std::puts("TRUTH writer native_rwlock -");
  }
  while (ready != expected) ::usleep(1000);
  ::usleep(200'000);
  std::printf("READY %d\n", static_cast<int>(::getpid()));
  std::fflush(stdout);
  char line[16];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
  }
  return 0;
}
