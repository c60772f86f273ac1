// A program that sees how long it was stopped: one thread watches the clock, the others sleep.
#pragma once

#include <alloca.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

namespace pause_bench {

inline std::uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

inline void pin_to(unsigned cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  (void)sched_setaffinity(0, sizeof set, &set);
}

/// Shared between the target, which writes gaps, and the bench, which reads them.
struct GapPage {
  static constexpr std::size_t kGaps = 1 << 16;
  static constexpr std::uint64_t kShortest = 1500;  // ns without a look at the clock
  struct Gap {
    std::uint64_t begin, end;
  };
  std::atomic<int> threads_ready;
  std::atomic<std::uint64_t> count;
  Gap gaps[kGaps];

  /// The longest gap that overlaps a time span; 0 when there is none.
  [[nodiscard]] std::uint64_t longest(std::uint64_t begin, std::uint64_t end) const {
    std::uint64_t best = 0;
    const std::uint64_t n = count.load(std::memory_order_acquire);
    for (std::uint64_t i = 0; i < n && i < kGaps; i++)
      if (gaps[i].end >= begin && gaps[i].begin <= end && gaps[i].end - gaps[i].begin > best)
        best = gaps[i].end - gaps[i].begin;
    return best;
  }
};

/// Starts the program and ends it. `threads` includes the main thread, which sleeps, and the one that watches.
class GapTarget {
 public:
  GapTarget(unsigned threads, std::size_t stack_bytes) {
    void* page = mmap(nullptr, sizeof(GapPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) std::exit(2);
    page_ = static_cast<GapPage*>(page);
    pid_ = fork();
    if (pid_ == 0) run(threads, stack_bytes);
    for (int i = 0; i < 10'000 && page_->threads_ready < static_cast<int>(threads) - 1; i++) usleep(1000);
    usleep(50'000);
  }
  ~GapTarget() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    munmap(page_, sizeof(GapPage));
  }
  GapTarget(const GapTarget&) = delete;
  GapTarget& operator=(const GapTarget&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] GapPage& page() const { return *page_; }

 private:
  struct Start {
    GapPage* page;
    std::size_t stack_bytes;
    bool watch;
  };

  [[noreturn]] void run(unsigned threads, std::size_t stack_bytes) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    static Start sleeper, watcher;
    sleeper = {page_, stack_bytes, false};
    watcher = {page_, stack_bytes, true};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 512 << 10);
    for (unsigned i = 2; i < threads; i++) start(attributes, sleeper);
    start(attributes, watcher);
    for (;;) pause();
  }
  static void start(const pthread_attr_t& attributes, Start& s) {
    pthread_t thread;
    if (pthread_create(&thread, &attributes, thread_main, &s) != 0) std::exit(3);
  }
  static void* thread_main(void* argument) {
    const auto& s = *static_cast<Start*>(argument);
    auto* used = static_cast<char*>(alloca(s.stack_bytes + 1));
    memset(used, 1, s.stack_bytes + 1);
    s.page->threads_ready++;
    if (s.watch) watch_clock(*s.page);
    for (;;) {
      const timespec t{100'000, 0};
      nanosleep(&t, nullptr);
      asm volatile("" ::"r"(used) : "memory");
    }
  }
  [[noreturn]] static void watch_clock(GapPage& page) {
    pin_to(1);
    for (std::uint64_t last = now_ns();;) {
      std::uint64_t t = now_ns();
      if (t - last > GapPage::kShortest) {
        const std::uint64_t n = page.count.load(std::memory_order_relaxed);
        page.gaps[n % GapPage::kGaps] = {last, t};
        page.count.store(n + 1, std::memory_order_release);
        t = now_ns();
      }
      last = t;
    }
  }

  pid_t pid_ = -1;
  GapPage* page_ = nullptr;
};

}  // namespace pause_bench
