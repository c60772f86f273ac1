// Processor time of threads, as the kernel tells.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/system/scoped_fd.h"

namespace mixstack::why {

/// The threads of one process.
class ThreadClocks {
 public:
  explicit ThreadClocks(std::uint32_t pid);

  /// Processor time of a thread; nothing: it has gone, or the kernel does not tell (CONFIG_SCHED_INFO).
  [[nodiscard]] std::optional<std::chrono::nanoseconds> cpu(std::uint32_t tid) const;
  /// Whether it runs, or would if a processor was given to it.
  [[nodiscard]] bool is_runnable(std::uint32_t tid) const;

 private:
  base::ScopedFd tasks_;  // /proc/PID/task
};

}  // namespace mixstack::why
