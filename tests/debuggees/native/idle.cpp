// Threads of the lowest priority that compute: on a busy machine no processor is given to them. idle THREADS
// Says of each "TRUTH TID DEPTH": so many calls of `idle_nested` lie below its `idle_spins`.
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

std::atomic<int> ready{0};
std::atomic<bool> goes_on{true};

}  // namespace

extern "C" __attribute__((noinline)) int idle_spins() {
  ready++;
  volatile int rounds = 0;
  while (goes_on) rounds = rounds + 1;
  return rounds;
}

extern "C" int idle_nested(int depth);
int (*volatile nested_again)(int) = idle_nested;
extern "C" __attribute__((noinline)) int idle_nested(int depth) {
  return (depth > 1 ? nested_again(depth - 1) : idle_spins()) + 1;  // no tail call
}

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 8;
  std::vector<std::thread> threads;
  std::vector<std::atomic<long>> ids(static_cast<std::size_t>(count));
  for (int i = 0; i < count; i++)
    threads.emplace_back([i, &ids] {
      const sched_param none{};
      if (::pthread_setschedparam(::pthread_self(), SCHED_IDLE, &none) != 0) std::_Exit(1);
      ids[static_cast<std::size_t>(i)] = ::syscall(SYS_gettid);
      (void)idle_nested(i + 1);
    });
  while (ready < count) ::usleep(1000);
  for (int i = 0; i < count; i++) std::printf("TRUTH %ld %d\n", ids[static_cast<std::size_t>(i)].load(), i + 1);
  std::printf("READY %d\n", ::getpid());
  std::fflush(stdout);
  for (;;) ::pause();
}
