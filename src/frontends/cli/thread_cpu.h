// CPU time and state of threads, from /proc.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/system/scoped_fd.h"

namespace mixstack::cli {

/// The threads of one process.
class ThreadClocks {
 public:
  explicit ThreadClocks(std::uint32_t pid);

  /// CPU time of a thread; nothing: it is gone, or the kernel does not count it (CONFIG_SCHED_INFO).
  [[nodiscard]] std::optional<std::chrono::nanoseconds> cpu(std::uint32_t tid) const;
  /// Whether it runs or is ready to run (state R).
  [[nodiscard]] bool is_runnable(std::uint32_t tid) const;

 private:
  base::ScopedFd tasks_;  // /proc/PID/task
};

}  // namespace mixstack::cli
