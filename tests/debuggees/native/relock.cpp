// A thread that locks a mutex which it has locked, and never gets on. Prints "TRUTH WAITER WAIT OWNER" with names of
// threads, and "READY PID".
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
std::atomic<bool> ready{false};

extern "C" __attribute__((noinline)) void locks_twice() {
  ::pthread_mutex_lock(&mutex);
  ready = true;
  ::pthread_mutex_lock(&mutex);
  std::puts("never");
}

}  // namespace

int main() {
  pthread_t thread;
  const auto body = [](void*) -> void* { return locks_twice(), nullptr; };
  if (::pthread_create(&thread, nullptr, body, nullptr) != 0) std::_Exit(1);
  ::pthread_setname_np(thread, "twice");
  while (!ready) ::usleep(1000);
  ::usleep(100'000);
  std::puts("TRUTH twice native_mutex twice");
  std::printf("READY %d\n", static_cast<int>(::getpid()));
  std::fflush(stdout);
  char line[16];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
  }
  return 0;
}
