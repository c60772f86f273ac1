// For tests: a child process whose threads compute in a function that is known.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "mixstack/address.h"

namespace mixstack::test {

struct Burning {
  std::atomic<int> ready{0};
  std::atomic<int> wanted{0};  ///< threads beside the main thread
  std::atomic<int> quit{0};    ///< of these, how many are to end
  std::atomic<std::uint64_t> sink{0};
  std::atomic<std::uint64_t> rounds{0};  ///< of computing, all alike
};

[[gnu::noinline]] inline std::uint64_t burn(std::uint64_t seed) {
  for (int i = 0; i < 1000000; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    asm volatile("" : "+r"(seed));
  }
  return seed;
}
[[gnu::noinline]] inline void burn_in(Burning& shared) {
  shared.sink += burn(shared.sink);
  shared.rounds++;
  asm volatile("" ::: "memory");  // burn returns here: no tail call
}
/// The code of these functions, and of nothing that the tests call.
inline AddressRange code_of(const void* function) {
  const auto begin = reinterpret_cast<Address>(function);
  return {begin, begin + 160};
}

/// Forked, so that functions lie where they lie here. Ends with the object.
class BurningProcess {
 public:
  explicit BurningProcess(int threads) {
    void* memory = ::mmap(nullptr, sizeof(Burning), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared_ = new (memory) Burning;
    shared_->wanted = threads;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      run(*shared_);
    }
    wait_for_threads();
  }
  BurningProcess(const BurningProcess&) = delete;
  BurningProcess& operator=(const BurningProcess&) = delete;
  ~BurningProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::munmap(shared_, sizeof(Burning));
  }

  [[nodiscard]] std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }
  void add_threads(int count) {
    shared_->wanted += count;
    wait_for_threads();
  }
  [[nodiscard]] std::uint64_t rounds() const { return shared_->rounds; }
  /// The word that burning threads write after each round, in the child, too.
  [[nodiscard]] Address rounds_at() const { return reinterpret_cast<Address>(&shared_->rounds); }
  void end_threads(int count) { shared_->quit += count; }
  [[nodiscard]] double cpu_seconds() const {
    clockid_t clock{};
    timespec now{};
    if (::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &now) != 0) return 0;
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  }
  /// Calls `meanwhile` until the process has used so much more processor time; false: not in 20 seconds.
  template <class F>
  bool use_cpu(double seconds, F&& meanwhile) const {
    const double until = cpu_seconds() + seconds;
    for (int i = 0; i < 4000; i++) {
      meanwhile();
      if (cpu_seconds() >= until) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

 private:
  static void* burn_on(void* shared) {
    auto& s = *static_cast<Burning*>(shared);
    ::pthread_setname_np(::pthread_self(), "burning");
    s.ready++;
    for (;;) {
      burn_in(s);
      if (int left = s.quit; left > 0 && s.quit.compare_exchange_strong(left, left - 1)) return nullptr;
    }
  }
  [[noreturn]] static void run(Burning& shared) {
    for (int started = 0;;) {
      for (; started < shared.wanted; started++) {
        pthread_t thread;
        if (::pthread_create(&thread, nullptr, burn_on, &shared) != 0) ::_exit(1);
        ::pthread_detach(thread);
      }
      ::usleep(1000);
    }
  }
  void wait_for_threads() const {
    for (int i = 0; i < 5000 && shared_->ready < shared_->wanted; i++) ::usleep(1000);
  }

  Burning* shared_ = nullptr;
  pid_t pid_ = -1;
};

}  // namespace mixstack::test
