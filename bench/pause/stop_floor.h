// The least a consistent stop can cost: bare system calls, nothing prepared, nothing checked, nothing kept.
#pragma once

#include <dirent.h>
#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <string>
#include <thread>

#include "gap_target.h"

namespace pause_bench {

/// Seizes the threads of a process, stops all, reads registers, copies `bytes` of each stack with one call for 1024
/// and lets all go; the time is from the first interrupt to the last continue. In a thread that ends, so that the
/// process is free again for whoever stops it next.
class StopFloor {
 public:
  StopFloor(pid_t pid, std::size_t bytes) : pid_(pid), bytes_(bytes) {
    DIR* dir = opendir(("/proc/" + std::to_string(pid) + "/task").c_str());
    if (dir == nullptr) std::exit(2);
    while (const dirent* e = readdir(dir))
      if (e->d_name[0] != '.') tids_.push_back(std::atoi(e->d_name));
    closedir(dir);
    buffer_.assign(tids_.size() * bytes, 1);
    stack_pointers_.resize(tids_.size());
    local_.resize(tids_.size());
    remote_.resize(tids_.size());
  }

  struct Span {
    std::uint64_t begin, end;
  };
  [[nodiscard]] Span stop_once() {
    Span span{};
    std::thread([&] {
      for (const int tid : tids_) check(ptrace(PTRACE_SEIZE, tid, 0, 0));
      usleep(1000);
      span.begin = now_ns();
      stop_copy_continue();
      span.end = now_ns();
    }).join();
    usleep(2000);  // the kernel detaches a little after the join
    return span;
  }

 private:
  static void check(long result) {
    if (result != 0) std::perror("floor"), std::exit(2);
  }
  static void wait_for_stop(int tid) {
    for (int status = 0;;) {
      if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status)) std::exit(2);
      if (status >> 16 == PTRACE_EVENT_STOP) return;
      check(ptrace(PTRACE_CONT, tid, 0, WSTOPSIG(status)));
    }
  }
  void stop_copy_continue() {
    const std::size_t n = tids_.size();
    for (const int tid : tids_) check(ptrace(PTRACE_INTERRUPT, tid, 0, 0));
    for (const int tid : tids_) wait_for_stop(tid);
    for (std::size_t i = 0; i < n; i++) {
      user_regs_struct registers;
      iovec v{&registers, sizeof registers};
      check(ptrace(PTRACE_GETREGSET, tids_[i], NT_PRSTATUS, &v));
      stack_pointers_[i] = registers.rsp;
    }
    for (std::size_t i = 0; i < n; i++) {
      local_[i] = {buffer_.data() + i * bytes_, bytes_};
      remote_[i] = {reinterpret_cast<void*>(stack_pointers_[i]), bytes_};
    }
    for (std::size_t i = 0; i < n;) {
      const std::size_t count = std::min<std::size_t>(n - i, 1024);
      const ssize_t got = process_vm_readv(pid_, &local_[i], count, &remote_[i], count, 0);
      i += got > 0 ? std::max<std::size_t>(1, static_cast<std::size_t>(got) / bytes_) : 1;
    }
    for (const int tid : tids_) check(ptrace(PTRACE_CONT, tid, 0, 0));
  }

  pid_t pid_;
  std::size_t bytes_;
  std::vector<int> tids_;
  std::vector<char> buffer_;
  std::vector<std::uint64_t> stack_pointers_;
  std::vector<iovec> local_, remote_;
};

}  // namespace pause_bench
