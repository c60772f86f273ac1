// Two threads that wait for each other's pthread mutex, one that joins the first of them, one that sleeps. Prints
// "TRUTH WAITER WAIT OWNER" with names of threads, and "READY PID".
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace {

pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
std::atomic<int> hold{0}, ready{0};
pthread_t first;

extern "C" __attribute__((noinline)) void crosses(pthread_mutex_t* own, pthread_mutex_t* other) {
  ::pthread_mutex_lock(own);
  ++hold;
  while (hold != 2) ::usleep(1000);
  ++ready;
  ::pthread_mutex_lock(other);
  std::puts("never");
}

void start(pthread_t& thread, const char* name, void* (*body)(void*)) {
  if (::pthread_create(&thread, nullptr, body, nullptr) != 0) std::_Exit(1);
  ::pthread_setname_np(thread, name);
}

}  // namespace

int main() {
  pthread_t second, joiner, sleeper;
  start(first, "left", [](void*) -> void* { return crosses(&left, &right), nullptr; });
  start(second, "right", [](void*) -> void* { return crosses(&right, &left), nullptr; });
  start(joiner, "joiner", [](void*) -> void* {
    ++ready;
    ::pthread_join(first, nullptr);
    return nullptr;
  });
  start(sleeper, "sleeper", [](void*) -> void* {
    ++ready;
    for (;;) ::sleep(1000);
  });
  while (ready != 4) ::usleep(1000);
  ::usleep(100'000);
  std::puts("TRUTH left native_mutex right\nTRUTH right native_mutex left\nTRUTH joiner thread_join left");
  std::printf("READY %d\n", static_cast<int>(::getpid()));
  std::fflush(stdout);
  char line[16];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
  }
  return 0;
}
