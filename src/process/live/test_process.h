// Processes to look at, for the tests of this folder: forked children that share a page with the test.
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>

#include "process/live/proc_dir.h"

namespace mixstack::process::test {

using namespace std::chrono_literals;

/// Words that a child and its test share.
struct Shared {
  std::atomic<int> ready{0};
  std::atomic<int> go{0};
  std::atomic<long> counter{0};
  std::atomic<long> values[16]{};
};

inline void nap(std::chrono::microseconds t) {
  const timespec ts{t.count() / 1'000'000, t.count() % 1'000'000 * 1000};
  ::nanosleep(&ts, nullptr);
}

/// Waits, for the machine may be busy, but not for ever.
inline bool eventually(const std::function<bool()>& condition, std::chrono::seconds limit = 30s) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    nap(500us);
  }
  return true;
}

/// How much slower everything is: emulated (tests/arm64/suite.py says so), programs start some thirty times as slowly.
/// Tests of chance make fewer rounds there.
inline int slowness() { return std::getenv("MIXSTACK_ARM64") != nullptr ? 10 : 1; }

inline pid_t gettid_now() { return static_cast<pid_t>(::syscall(SYS_gettid)); }

/// The text of a /proc file, or nothing.
inline std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

inline char state_of(pid_t pid, pid_t tid = 0) {
  const auto stat = parse_thread_stat(
      slurp("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid == 0 ? pid : tid) + "/stat"));
  return stat ? stat->state : '-';
}

/// Nobody traces any thread of the process: what must hold after every capture.
inline bool is_untraced(pid_t pid) {
  auto proc = ProcDir::open(static_cast<std::uint32_t>(pid));
  auto tasks = proc ? proc->tasks() : Result<std::vector<ThreadId>>(fail(ErrorCode::no_such_process));
  if (!tasks) return false;
  for (const ThreadId tid : *tasks) {
    const std::string status = slurp("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/status");
    if (!status.empty() && status_field(status, "TracerPid").value_or("0") != "0") return false;
  }
  return true;
}

/// A forked child that runs a function and is killed at the end of its test.
class TestProcess {
 public:
  /// Returns when the child has set `ready` to `wait_for`.
  explicit TestProcess(const std::function<void(Shared&)>& body, int wait_for = 1) {
    void* page = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared_ = new (page) Shared;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      body(*shared_);
      for (;;) ::pause();
    }
    is_ready_ = eventually([&] { return shared_->ready >= wait_for; });
  }
  ~TestProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, __WALL);
    ::munmap(shared_, sizeof(Shared));
  }
  TestProcess(const TestProcess&) = delete;
  TestProcess& operator=(const TestProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] std::uint32_t id() const { return static_cast<std::uint32_t>(pid_); }
  [[nodiscard]] Shared& shared() const { return *shared_; }
  [[nodiscard]] bool is_ready() const { return is_ready_; }

 private:
  pid_t pid_ = -1;
  Shared* shared_ = nullptr;
  bool is_ready_ = false;
};

/// Starts a detached thread.
inline bool try_start_thread(void* (*body)(void*), void* argument, std::size_t stack_size) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_size);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  const bool started = pthread_create(&thread, &attributes, body, argument) == 0;
  pthread_attr_destroy(&attributes);
  return started;
}

/// For children only, which have nobody to report to.
inline void start_thread(void* (*body)(void*), void* argument, std::size_t stack_size = 256 << 10) {
  if (!try_start_thread(body, argument, stack_size)) ::_exit(9);
}

}  // namespace mixstack::process::test
